import { type Link, type Span, type SpanContext, SpanStatusCode, TraceFlags, type Tracer } from '@opentelemetry/api'
import type { TracedRequest, Tracing } from '@penstock/runtime/observability/tracing.ts'
import type { PresetIds } from './span-ids.ts'
import { type SpanBuffer, type RequestScope, createSpanTree } from './span-tree.ts'

/** Creates spans with OpenTelemetry. */
export function createTracing(tracer: Tracer, ids: PresetIds): Tracing {
  const { scope, start, parentSpanId } = createSpanTree(tracer, ids)
  return {
    async span(about, work, describeResult) {
      const isRoot = about.parent === undefined && parentSpanId(about.trace) === undefined
      const span = start(about)
      // Work with a given parent came with a message. It does not belong to the request that woke the consumer.
      const request = about.parent === undefined ? scope.getStore()?.request : undefined
      const outerBuffer = about.parent === undefined ? scope.getStore()?.buffer : undefined
      const buffer: SpanBuffer = isRoot ? { waiting: [] } : (outerBuffer ?? { waiting: undefined })
      try {
        const result = await scope.run({ span, buffer, ...(request && { request }) }, work)
        const { attributes, isIdle = false } = describeResult?.(result) ?? { attributes: {} }
        span.setAttributes({ ...attributes })
        if (isRoot && isIdle) buffer.waiting = undefined
        else endSpan(span, buffer, isRoot)
        return result
      } catch (error) {
        // The log has the error under the same trace. The span omits error messages, since they may repeat private input.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' })
        endSpan(span, buffer, isRoot)
        throw error
      }
    },
    recordSpan(about, startedAt) {
      const buffer = about.parent === undefined ? scope.getStore()?.buffer : undefined
      endSpan(start(about, startedAt), buffer ?? { waiting: undefined }, false)
    },
    traceparent(trace) {
      const span = parentSpanId(trace)
      return span === undefined ? undefined : `00-${trace}-${span}-01`
    },
    request(traceparent, work) {
      const request: RequestScope = { startedAt: Date.now(), caller: parseLink(traceparent), spans: new Map(), hasEnded: false }
      return scope.run({ request }, () => work(createTracedRequest(request)))
    },
  }
}

/** Ends a span, or buffers its end until the root ends. A span that never ends is never sent. */
function endSpan(span: Span, buffer: SpanBuffer, isRoot: boolean): void {
  const endedAt = Date.now()
  if (!isRoot && buffer.waiting) return void buffer.waiting.push(() => span.end(endedAt))
  span.end()
  for (const end of buffer.waiting ?? []) end()
  buffer.waiting = undefined
}

const createTracedRequest = (request: RequestScope): TracedRequest => ({
  end(name, attributes, failed) {
    request.hasEnded = true
    for (const span of request.spans.values()) {
      span.updateName(name).setAttributes({ ...attributes })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    }
  },
})

/** Parses the link to the trace of the caller. The request is related to that trace but is not a part of it. */
function parseLink(traceparent: string | undefined): Link | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true }
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId) ? { context } : undefined
}
