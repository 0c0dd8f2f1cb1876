import { hash } from 'node:crypto'

/**
 * Derives the trace-id (W3C Trace Context) of an order from the correlation. Every message about one order then belongs to
 * one trace, even if the message contains no trace-id.
 */
export const deriveTraceId = (correlation: string): string => hash('sha256', `penstock-trace\n${correlation}`).slice(0, 32)

/** Derives the id of the span that published a message, from the message's id. Readers use it if the message has no span id. */
export const deriveMessageSpanId = (id: string): string => hash('sha256', id).slice(0, 16)

/** Derives the id of the span that appended a command's facts. Facts contain the command's id, so the relay derives it too. */
export const deriveAppendSpanId = (commandId: string): string => hash('sha256', `penstock-append\n${commandId}`).slice(0, 16)

/** @returns the id of the span that sent a message, if the span belongs to the trace */
export function parseSpanId(traceparent: string | undefined, trace: string): string | undefined {
  const [, traceId, span] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent ?? '') ?? []
  return traceId === trace ? span : undefined
}
