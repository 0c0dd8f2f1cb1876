import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Config } from '@penstock/config/config.ts'
import { type Gauges, createGauges } from '@penstock/runtime/observability/gauges.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import { collectDefaultMetrics } from 'prom-client'
import { readTip } from '@penstock/runtime/observability/tip-gauges.ts'

export type Observability = { readonly gauges: Gauges; readonly tracing?: Tracing }

/**
 * Starts the metrics and traces of this process; call it once. The tracing code is imported only if traces are collected.
 * `end` sends the remaining traces within two seconds at most.
 */
export async function startObservability(
  config: Pick<Config, 'otlpUrl' | 'otlpShare'>,
  labels: { readonly service: string; readonly instance: string },
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<{ readonly observability: Observability; readonly end: () => Promise<void> }> {
  collectDefaultMetrics({ register: registry })
  const gauges = createGauges(systemClock)
  gauges.addReader(readTip)
  if (config.otlpUrl === '') return { observability: { gauges }, end: () => Promise.resolve() }
  const { openTracing } = await import('@penstock/adapters/opentelemetry/otlp.ts')
  const { tracing, close } = openTracing({ url: config.otlpUrl, share: config.otlpShare, log, ...labels })
  return { observability: { gauges, tracing }, end: close }
}
