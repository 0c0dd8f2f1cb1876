export type Attributes = Readonly<Record<string, string | number | boolean>>

/** What a span tells. All of it leaves the process, so nothing secret is in it. */
export type About = {
  readonly name: string
  /** The trace-id of the order, or of what else it is about. */
  readonly trace: string
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer'
  /** The span that caused it in another process or at another time; the one around it where nothing is said. */
  readonly parent?: string | undefined
  /** Where others find it without having been told. */
  readonly id?: string
  readonly attributes: Attributes
}

/** `isIdle`: nothing came of it. With nothing before it, and nothing behind it, such a span is not kept. */
export type Told = { readonly attributes: Attributes; readonly isIdle?: boolean }

/** A request, of which it is not known at its beginning which order it is about. */
export type TracedRequest = { end(name: string, attributes: Attributes, failed: boolean): void }

/** Spans of what a process does, for whoever collects them. Without a collector there is none of these at all. */
export type Tracing = {
  /** @param told what is known of the result */
  span<T>(about: About, work: () => Promise<T>, told?: (result: T) => Told): Promise<T>
  /** A span of what has just ended. @param startedAt milliseconds since 1970 */
  past(about: About, startedAt: number): void
  /** The traceparent of what is sent now. */
  traceparent(trace: string): string | undefined
  /** Work whose spans hang on a span of the request, one in each trace that it touches. @param traceparent the caller's own */
  request<T>(traceparent: string | undefined, work: (request: TracedRequest) => T): T
}

/** Does the work, in a span where there is a collector; without one it costs a call. */
export const traced = <T>(
  tracing: Tracing | undefined,
  about: () => About,
  work: () => Promise<T>,
  told?: (result: T) => Told,
): Promise<T> => (tracing ? tracing.span(about(), work, told) : work())

/** Streams whose id is an order's; others are about an order when a message about one reached them. */
const ORDER_STREAMS: ReadonlySet<string> = new Set(['quote', 'order', 'match', 'settlement', 'channel'])

/** The order that a message to a stream is about, if it is about one. */
export const orderOf = (category: string, aggregateId: string, correlation: string): { readonly order?: string } =>
  ORDER_STREAMS.has(category) || correlation !== aggregateId ? { order: correlation } : {}

/** What all spans about a stream say. */
export function streamAttributes(service: string, category: string, aggregateId: string, correlation: string): Attributes {
  const { order } = orderOf(category, aggregateId, correlation)
  return {
    'penstock.service': service,
    'penstock.stream': `${category}-${aggregateId}`,
    ...(order !== undefined && { 'penstock.order': order }),
  }
}
