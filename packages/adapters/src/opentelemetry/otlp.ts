import { setTimeout as sleep } from 'node:timers/promises'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import { Counter } from 'prom-client'
import { createPresetIds } from './span-ids.ts'
import { createTracing } from './spans.ts'

export type TracingOptions = {
  /** URL of the collector, with or without the path of traces. */
  readonly url: string
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly share: number
  readonly service: string
  readonly instance: string
}

/** Maximum number of spans that wait for the collector. Further spans are dropped. */
const MAX_QUEUED = 8192
const SEND_EVERY_MS = 1000
const SEND_TIMEOUT_MS = 5000
const SHUTDOWN_TIMEOUT_MS = 2000

const spansExported = new Counter({
  name: 'penstock_spans_exported_total',
  help: 'Spans by the outcome of their export to the trace collector.',
  labelNames: ['outcome'] as const,
  registers: [registry],
})

/** Sends spans in batches in the background. A slow or unreachable collector costs the market only the spans. */
export function openTracing(options: TracingOptions): { readonly tracing: Tracing; readonly close: () => Promise<void> } {
  const { share, service, instance, log } = options
  const url = buildTracesUrl(options.url)
  const exporter = countExports(new OTLPTraceExporter({ url, timeoutMillis: SEND_TIMEOUT_MS }), logOutcomes(log, url))
  const ids = createPresetIds()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'penstock',
      'service.name': service,
      'service.instance.id': instance,
    }),
    idGenerator: ids.generator,
    // The sampler uses only the trace id, which is derived from the order, so that every process samples the same orders.
    sampler: new TraceIdRatioBasedSampler(share),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_QUEUED,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS,
      }),
    ],
  })
  return {
    tracing: createTracing(provider.getTracer('penstock'), ids),
    async close() {
      const timer = new AbortController()
      const sent = provider.shutdown().catch(() => undefined)
      await Promise.race([sent, sleep(SHUTDOWN_TIMEOUT_MS, undefined, { signal: timer.signal }).catch(() => undefined)])
      timer.abort()
    },
  }
}

/** Adds the path of traces, unless the address of the collector has it. */
export const buildTracesUrl = (url: string): string => `${url.replace(/\/+$/, '').replace(/\/v1\/traces$/, '')}/v1/traces`

/** Logs the first failure, and the first success after failures. */
export function logOutcomes(log: Pick<Logger, 'info' | 'warn'>, url: string): (error: Error | undefined) => void {
  let isFailing = false
  return (error) => {
    if (error && !isFailing) log.warn({ url, error: error.message }, 'sending traces failed; spans are dropped until it works')
    if (!error && isFailing) log.info({ url }, 'sending traces works again')
    isFailing = error !== undefined
  }
}

function countExports(exporter: SpanExporter, onOutcome: (error: Error | undefined) => void): SpanExporter {
  return {
    export: (batch, done) =>
      exporter.export(batch, (result) => {
        spansExported.inc({ outcome: result.code === 0 ? 'sent' : 'failed' }, batch.length)
        onOutcome(result.code === 0 ? undefined : (result.error ?? new Error('the collector gave no reason')))
        done(result)
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
