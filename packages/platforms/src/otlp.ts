import { setTimeout as sleep } from 'node:timers/promises'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { registry } from '@penstock/runtime/metrics.ts'
import type { Tracing } from '@penstock/runtime/tracing.ts'
import { Counter } from 'prom-client'
import { chosenIds } from './span-ids.ts'
import { spans } from './spans.ts'

export type TracingOptions = {
  /** Of the collector, without the path of traces. */
  readonly url: string
  readonly share: number
  readonly service: string
  readonly instance: string
}

/** Spans that wait for a collector; what comes when so many wait is dropped. */
const WAITING = 8192
const SEND_EVERY_MS = 1000
const SEND_TIMEOUT_MS = 5000
const LAST_SEND_MS = 2000

const spansExported = new Counter({
  name: 'penstock_spans_exported_total',
  help: 'Spans that were sent to the collector of traces, or could not be.',
  labelNames: ['outcome'] as const,
  registers: [registry],
})

/** Sends spans in batches and in the background: a collector that is slow or away costs the market nothing but the spans. */
export function openTracing(options: TracingOptions): { readonly tracing: Tracing; readonly close: () => Promise<void> } {
  const { url, share, service, instance } = options
  const exporter = counted(new OTLPTraceExporter({ url: `${url.replace(/\/+$/, '')}/v1/traces`, timeoutMillis: SEND_TIMEOUT_MS }))
  const ids = chosenIds()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'penstock',
      'service.name': service,
      'service.instance.id': instance,
    }),
    idGenerator: ids.generator,
    // By the trace's id alone, which is the order's: every process chooses the same.
    sampler: new TraceIdRatioBasedSampler(share),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: WAITING,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS,
      }),
    ],
  })
  return {
    tracing: spans(provider.getTracer('penstock'), ids),
    async close() {
      const late = new AbortController()
      const sent = provider.shutdown().catch(() => undefined)
      await Promise.race([sent, sleep(LAST_SEND_MS, undefined, { signal: late.signal }).catch(() => undefined)])
      late.abort()
    },
  }
}

function counted(exporter: SpanExporter): SpanExporter {
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
