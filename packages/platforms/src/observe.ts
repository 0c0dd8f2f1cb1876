import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { type Gauges, openGauges } from '@penstock/runtime/gauges.ts'
import { registry } from '@penstock/runtime/metrics.ts'
import type { Tracing } from '@penstock/runtime/tracing.ts'
import { collectDefaultMetrics } from 'prom-client'
import { tipNow } from './tip-metrics.ts'

export type Seen = { readonly gauges: Gauges; readonly tracing?: Tracing }

/**
 * Metrics and traces of this process; called once in it. What traces need is loaded only where they are collected.
 * `end`: sends what is left, for two seconds at most.
 */
export async function observe(
  config: Pick<Config, 'otlpUrl' | 'otlpShare'>,
  who: { readonly service: string; readonly instance: string },
): Promise<{ readonly seen: Seen; readonly end: () => Promise<void> }> {
  collectDefaultMetrics({ register: registry })
  const gauges = openGauges(systemClock)
  gauges.watch(tipNow)
  if (config.otlpUrl === '') return { seen: { gauges }, end: () => Promise.resolve() }
  const { openTracing } = await import('./otlp.ts')
  const { tracing, close } = openTracing({ url: config.otlpUrl, share: config.otlpShare, ...who })
  return { seen: { gauges, tracing }, end: close }
}
