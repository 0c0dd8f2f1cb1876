import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Config } from '@penstock/config/config.ts'
import { type Gauges, createGauges } from '@penstock/runtime/observability/gauges.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import { collectDefaultMetrics } from 'prom-client'
import { readTip } from '@penstock/runtime/observability/tip-gauges.ts'

export type Observability = { readonly gauges: Gauges; readonly tracing?: Tracing }

/** prom-client's 10 ms cost an idle process 6 ms of CPU a second. The alert about a blocked event loop starts at 500 ms. */
const EVENT_LOOP_SAMPLE_MS = 100

/**
 * Starts the metrics and traces of this process; call it once. The tracing code is imported only if traces are collected.
 * `end` sends the remaining traces within two seconds at most.
 */
export async function startObservability(
  config: Pick<Config, 'otlpUrl' | 'otlpShare'>,
  labels: { readonly service: string; readonly instance: string },
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<{ readonly observability: Observability; readonly end: () => Promise<void> }> {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS })
  const gauges = createGauges(systemClock)
  gauges.addReader(readTip)
  if (config.otlpUrl === '') return { observability: { gauges }, end: () => Promise.resolve() }
  const { openTracing } = await import('@penstock/adapters/opentelemetry/otlp.ts')
  const { tracing, close } = openTracing({ url: config.otlpUrl, share: config.otlpShare, log, ...labels })
  return { observability: { gauges, tracing }, end: close }
}
