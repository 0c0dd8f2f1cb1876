import { setTimeout as sleep } from 'node:timers/promises'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Tracing } from '@penstock/runtime/observability/tracing.ts'
import { Counter } from 'prom-client'
import { createPresetIds } from './span-ids.ts'
import { createTracing } from './spans.ts'

export type TracingOptions = {
  /** URL of the collector, without the path of traces. */
  readonly url: string
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
  const { url, share, service, instance } = options
  const exporter = countExports(
    new OTLPTraceExporter({ url: `${url.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: SEND_TIMEOUT_MS }),
  )
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

function countExports(exporter: SpanExporter): SpanExporter {
  return {
    export: (batch, done) =>
      exporter.export(batch, (result) => {
        spansExported.inc({ outcome: result.code === 0 ? 'sent' : 'failed' }, batch.length)
        done(result)
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
