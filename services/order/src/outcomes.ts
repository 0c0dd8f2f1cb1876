import type { OrderFact, ReleaseTo } from '@penstock/contracts/order.ts'
import type { Decision } from '@penstock/kernel/decider.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { OrderRefused } from './refusal.ts'
import type { OrderClosing, PlacedOrder } from './state.ts'

export type OrderDecision = Decision<OrderFact, OrderRefused['refused']>

type FactData<Type extends OrderFact['type']> = Extract<OrderFact, { type: Type }>['data']

/** Versions of the facts whose shape has changed; all others have version 1. */
const FACT_VERSIONS: Partial<Record<OrderFact['type'], number>> = {
  InvalidChannelOpening: 2,
  OrderPlaced: 2,
  OutpointAccepted: 2,
}

export const orderFact = <Type extends OrderFact['type']>(type: Type, data: FactData<Type>): OrderFact =>
  ({ type, v: FACT_VERSIONS[type] ?? 1, data }) as OrderFact // type and data belong together by the signature; the compiler cannot see it through the union

/** Records an event that comes too late to change the order, once per kind. */
export const recordLateEvent = (order: PlacedOrder, what: string, detail: string | null = null): readonly OrderFact[] =>
  order.lateEvents.includes(what) ? [] : [orderFact('LateMessageRecorded', { what, detail })]

/** The fact that ends an order without a channel. */
export function endOrder(order: PlacedOrder, { to, reason, blamed, by }: OrderClosing, lastHeight = false): OrderFact {
  switch (to) {
    case 'SELLER_REJECTED':
      return orderFact('SellerRejected', { reason, record: null })
    case 'BUYER_REJECTED':
      return orderFact('BuyerRejected', { reason })
    case 'BUYER_FAILED_TO_PAY':
      return orderFact('BuyerFailedToPay', { reason })
    case 'SELLER_FAILED_TO_OPEN_CHANNEL':
      return orderFact('SellerFailedToOpenChannel', { reason, blamed, lastHeight })
    case 'SELLER_FAILED_TO_SEND_SWAP':
      return orderFact('SellerFailedToSendSwap', { attempt: acceptedAttemptOf(order), reason, lastHeight })
    case 'INVALID_CHANNEL_OPENING':
      return orderFact('InvalidChannelOpening', { attempt: acceptedAttemptOf(order), reason, blamed, lastHeight })
    case 'ADMIN_CLOSED':
      return orderFact('AdminClosed', { by: by ?? 'operator', reason })
  }
}

function acceptedAttemptOf({ outpoint: accepted }: PlacedOrder): number {
  assert(accepted, 'this failure requires an accepted outpoint')
  return accepted.attempt
}

/** An order without an invoice ends at once. Any other order closes first, and ends when the node has cancelled the invoice. */
export const requestRelease = (
  order: PlacedOrder,
  to: ReleaseTo,
  reason: string,
  blamed = false,
  by: string | null = null,
): OrderFact => {
  const closing = { to, reason, blamed, by }
  return order.hold === 'none' || order.hold === 'asked' ? endOrder(order, closing) : orderFact('ReleaseRequested', closing)
}
