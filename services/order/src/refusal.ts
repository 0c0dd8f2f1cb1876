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
export type OrderRefused = { readonly refused: OrderRefusal }

/** One refusal for another account's order and for an unknown order, so that a caller cannot learn which orders exist. */
export const refuseNotFound = (): OrderRefused => refuse('NOT_FOUND', 'Order not found')
export const refuseNotNow = (sentence: string): OrderRefused => refuse('NOT_NOW', sentence)
export const refuseClosing = (reason: string): OrderRefused => refuse('CLOSING', `The order is being closed: ${reason}`)
export const refuseEnded = (reason: string): OrderRefused => refuse('ENDED', `The order has ended: ${reason}`)
