import { AsyncLocalStorage } from 'node:async_hooks'
import { type Link, ROOT_CONTEXT, type Span, SpanKind, trace as api, TraceFlags, type Tracer } from '@opentelemetry/api'
import type { SpanDescription } from '@penstock/runtime/observability/tracing.ts'
import type { PresetIds } from './span-ids.ts'

/** The running request, with its span in each trace that it has touched. */
export type RequestScope = {
  readonly startedAt: number
  readonly caller: Link | undefined
  readonly spans: Map<string, Span>
  hasEnded: boolean
}
/** Ended spans below a root span. They are exported only with the root, because an idle root is dropped with them. */
export type SpanBuffer = { waiting: (() => void)[] | undefined }
type SpanScope = { readonly span?: Span; readonly request?: RequestScope; readonly buffer?: SpanBuffer }

export type SpanTree = {
  /** The scope of the running work. */
  readonly scope: AsyncLocalStorage<SpanScope>
  readonly start: (about: SpanDescription, startTime?: number) => Span
  /** The id of the span that would be the parent of a new span in this trace. */
  readonly parentSpanId: (trace: string) => string | undefined
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/**
 * The parent of a span is given, or is the enclosing span of the same trace, or the span of the request. A span without a parent
 * has an external cause: a block, a deadline, a restart.
 */
export function createSpanTree(tracer: Tracer, ids: PresetIds): SpanTree {
  const scope = new AsyncLocalStorage<SpanScope>()

  const start = (about: SpanDescription, startTime?: number, links: readonly Link[] = []): Span => {
    const { trace, name, kind, attributes } = about
    const parent = about.parent ?? parentSpanId(trace)
    const context =
      parent === undefined
        ? ROOT_CONTEXT
        : api.setSpanContext(ROOT_CONTEXT, {
            traceId: trace,
            spanId: parent,
            traceFlags: TraceFlags.SAMPLED,
            isRemote: about.parent !== undefined,
          })
    return ids.with({ trace, span: about.id }, () =>
      tracer.startSpan(
        name,
        {
          attributes: { ...attributes },
          links: [...links],
          ...(kind && { kind: kinds[kind] }),
          ...(startTime !== undefined && { startTime }),
        },
        context,
      ),
    )
  }
  const parentSpanId = (trace: string): string | undefined => {
    const { span, request } = scope.getStore() ?? {}
    const known = span?.spanContext()
    if (known?.traceId === trace) return known.spanId
    return request && spanOfRequest(request, trace)?.spanContext().spanId
  }
  const spanOfRequest = (request: RequestScope, trace: string): Span | undefined => {
    const known = request.spans.get(trace)
    if (known || request.hasEnded) return known
    // Inside the present scope, `start` would search for a parent and call this function again without end.
    const about = { name: 'request', trace, kind: 'server', attributes: {} } as const
    const span = scope.run({}, () => start(about, request.startedAt, request.caller ? [request.caller] : []))
    request.spans.set(trace, span)
    return span
  }
  return { scope, start, parentSpanId }
}
