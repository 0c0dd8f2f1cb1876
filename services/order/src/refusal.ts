import { refuse, type Refusal } from '@penstock/kernel/decider.ts'

export type OrderRefusal = Refusal<
  | 'NOT_FOUND'
  | 'NOT_NOW'
  | 'CLOSING'
  | 'ENDED'
  | 'HELD'
  | 'SETTLING'
  | 'BEARS_LOSS'
  | 'BUSY'
  | 'MALFORMED'
  | 'OUTPOINT_REFUSED'
  | 'ATTESTATION_REFUSED'
  | 'REPLACED'
  | 'INVOICE_REFUSED'
  | 'PAID'
  | 'TOO_MANY'
>
export type Refused = { readonly refused: OrderRefusal }

/** What somebody else's order answers, as an unknown one does: nobody learns that it is there. */
export const notFound = (): Refused => refuse('NOT_FOUND', 'Order not found')
export const notNow = (sentence: string): Refused => refuse('NOT_NOW', sentence)
export const closing = (reason: string): Refused => refuse('CLOSING', `The order is being closed: ${reason}`)
export const ended = (reason: string): Refused => refuse('ENDED', `The order has ended: ${reason}`)
