import { hash } from 'node:crypto'

/**
 * The trace of an order in the form of W3C Trace Context's trace-id: derived from the correlation, so that every
 * message about one order belongs to one trace without anything having to be carried along.
 */
export const traceOf = (correlation: string): string => hash('sha256', `penstock-trace\n${correlation}`).slice(0, 32)
