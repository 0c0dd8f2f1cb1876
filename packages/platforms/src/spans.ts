import { type Link, type Span, type SpanContext, SpanStatusCode, TraceFlags, type Tracer } from '@opentelemetry/api'
import type { TracedRequest, Tracing } from '@penstock/runtime/tracing.ts'
import type { ChosenIds } from './span-ids.ts'
import { type Kept, type Request, spanTree } from './span-tree.ts'

/** Spans by OpenTelemetry. */
export function spans(tracer: Tracer, ids: ChosenIds): Tracing {
  const { around, start, above } = spanTree(tracer, ids)
  return {
    async span(about, work, told) {
      const isRoot = about.parent === undefined && above(about.trace) === undefined
      const span = start(about)
      // What came with a message has left the request behind, whoever happened to wake its reader.
      const request = about.parent === undefined ? around.getStore()?.request : undefined
      const outer = about.parent === undefined ? around.getStore()?.kept : undefined
      const kept: Kept = isRoot ? { waiting: [] } : (outer ?? { waiting: undefined })
      try {
        const result = await around.run({ span, kept, ...(request && { request }) }, work)
        const { attributes, isIdle = false } = told?.(result) ?? { attributes: {} }
        span.setAttributes({ ...attributes })
        if (isRoot && isIdle) kept.waiting = undefined
        else over(span, kept, isRoot)
        return result
      } catch (error) {
        // What went wrong is in the log under the same trace; messages of errors repeat what they were given.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' })
        over(span, kept, isRoot)
        throw error
      }
    },
    past(about, startedAt) {
      const kept = about.parent === undefined ? around.getStore()?.kept : undefined
      over(start(about, startedAt), kept ?? { waiting: undefined }, false)
    },
    traceparent(trace) {
      const span = above(trace)
      return span === undefined ? undefined : `00-${trace}-${span}-01`
    },
    request(traceparent, work) {
      const request: Request = { startedAt: Date.now(), caller: linkOf(traceparent), spans: new Map(), over: false }
      return around.run({ request }, () => work(ended(request)))
    },
  }
}

/** A span that is never sent is one that has not ended. */
function over(span: Span, kept: Kept, isRoot: boolean): void {
  const endedAt = Date.now()
  if (!isRoot && kept.waiting) return void kept.waiting.push(() => span.end(endedAt))
  span.end()
  for (const end of kept.waiting ?? []) end()
  kept.waiting = undefined
}

const ended = (request: Request): TracedRequest => ({
  end(name, attributes, failed) {
    request.over = true
    for (const span of request.spans.values()) {
      span.updateName(name).setAttributes({ ...attributes })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    }
  },
})

/** A caller's own trace is shown as what it is: related, and not ours. */
function linkOf(traceparent: string | undefined): Link | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true }
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId) ? { context } : undefined
}
