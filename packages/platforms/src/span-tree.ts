import { AsyncLocalStorage } from 'node:async_hooks'
import { type Link, ROOT_CONTEXT, type Span, SpanKind, trace as api, TraceFlags, type Tracer } from '@opentelemetry/api'
import type { About } from '@penstock/runtime/tracing.ts'
import type { ChosenIds } from './span-ids.ts'

/** The request that all this happens in, with its span in each trace that it has touched. */
export type Request = {
  readonly startedAt: number
  readonly caller: Link | undefined
  readonly spans: Map<string, Span>
  over: boolean
}
/** Spans below a root of which it is not known yet whether anything comes of it. */
export type Kept = { waiting: (() => void)[] | undefined }
type Around = { readonly span?: Span; readonly request?: Request; readonly kept?: Kept }

export type SpanTree = {
  /** What the work that runs now is a part of. */
  readonly around: AsyncLocalStorage<Around>
  readonly start: (about: About, startTime?: number) => Span
  /** The span of a trace that a new one would hang on. */
  readonly above: (trace: string) => string | undefined
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

/**
 * What a span hangs on is said, or it is the span around it if that is of the same trace, or the request's; a span with none
 * of these begins at what came from outside: a block, a deadline, a restart.
 */
export function spanTree(tracer: Tracer, ids: ChosenIds): SpanTree {
  const around = new AsyncLocalStorage<Around>()

  const start = (about: About, startTime?: number, links: readonly Link[] = []): Span => {
    const { trace, name, kind, attributes } = about
    const parent = about.parent ?? above(trace)
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
  const above = (trace: string): string | undefined => {
    const { span, request } = around.getStore() ?? {}
    const known = span?.spanContext()
    if (known?.traceId === trace) return known.spanId
    return request && requestSpan(request, trace)?.spanContext().spanId
  }
  const requestSpan = (request: Request, trace: string): Span | undefined => {
    const known = request.spans.get(trace)
    if (known || request.over) return known
    // Outside of itself, or it would look for itself.
    const about = { name: 'request', trace, kind: 'server', attributes: {} } as const
    const span = around.run({}, () => start(about, request.startedAt, request.caller ? [request.caller] : []))
    request.spans.set(trace, span)
    return span
  }
  return { around, start, above }
}
