import { hash } from 'node:crypto'

/**
 * The trace of an order in the form of W3C Trace Context's trace-id: derived from the correlation, so that every
 * message about one order belongs to one trace without anything having to be carried along.
 */
export const traceOf = (correlation: string): string => hash('sha256', `penstock-trace\n${correlation}`).slice(0, 32)

/** The span in which a message with this id was published, where it names none itself: readers find it from the id alone. */
export const spanOfMessage = (id: string): string => hash('sha256', id).slice(0, 16)

/** The span in which a command's facts were appended. Facts carry their command's id, so that the relay finds it too. */
export const spanOfAppend = (commandId: string): string => hash('sha256', `penstock-append\n${commandId}`).slice(0, 16)

/** Where a message that carries a span was sent from. @returns its span, if it belongs to the trace */
export function spanIn(traceparent: string | undefined, trace: string): string | undefined {
  const [, of, span] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent ?? '') ?? []
  return of === trace ? span : undefined
}
