import { findContract } from '@penstock/contracts/contracts.ts'
import type { Subject } from '@penstock/contracts/define.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The description of a span. It leaves the process, so it must not contain secrets. */
export type SpanDescription = {
  readonly name: string
  /** The trace-id of the order, or of another subject. */
  readonly trace: string
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer'
  /** The parent span, from another process or another time; by default the enclosing span. */
  readonly parent?: string | undefined
  /** A derived id, which other processes can derive without a message. */
  readonly id?: string
  readonly attributes: Attributes
}

/** `isIdle` means that the work had no effect. An idle span without a parent is dropped. */
export type SpanResult = { readonly attributes: Attributes; readonly isIdle?: boolean }

/** A traced request, whose order is not known at its start. */
export type TracedRequest = { end(name: string, attributes: Attributes, failed: boolean): void }

/** Records the spans of a process for a collector. A process without a collector has no such object. */
export type Tracing = {
  /** @param describeResult gives the attributes of the result */
  span<T>(about: SpanDescription, work: () => Promise<T>, describeResult?: (result: T) => SpanResult): Promise<T>
  /** Records a span of work that has just ended. @param startedAt milliseconds since 1970 */
  recordSpan(about: SpanDescription, startedAt: number): void
  /** The traceparent of a message that is sent now. */
  traceparent(trace: string): string | undefined
  /**
   * Runs the work of a request, and records a request span in each trace that it touches.
   * @param traceparent from the caller
   */
  request<T>(traceparent: string | undefined, work: (request: TracedRequest) => T): T
}

/** Runs the work, in a span if there is a collector. */
export const withSpan = <T>(
  tracing: Tracing | undefined,
  about: () => SpanDescription,
  work: () => Promise<T>,
  describeResult?: (result: T) => SpanResult,
): Promise<T> => (tracing ? tracing.span(about(), work, describeResult) : work())

/** @returns the subject of a message to a stream, such as `{ order: <id> }`, if the contract of the stream has one */
export function subjectFieldOf(
  category: string,
  aggregateId: string,
  correlation: string,
): { readonly [name in Subject]?: string } {
  const { correlates, relatedTo } = findContract(category) ?? {}
  const subject = correlates ?? (correlation === aggregateId ? undefined : relatedTo?.subject)
  return subject === undefined ? {} : { [subject]: correlation }
}

/** The attributes of every span about a stream. */
export function streamAttributes(service: string, category: string, aggregateId: string, correlation: string): Attributes {
  const subjects = Object.entries(subjectFieldOf(category, aggregateId, correlation))
  return {
    'penstock.service': service,
    'penstock.stream': `${category}-${aggregateId}`,
    ...Object.fromEntries(subjects.map(([subject, id]) => [`penstock.${subject}`, id])),
  }
}
