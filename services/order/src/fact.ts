import type { OrderFact, ReleaseTo } from '@penstock/contracts/order.ts'
import type { Decision } from '@penstock/kernel/decider.ts'
import { must } from '@penstock/kernel/result.ts'
import type { Refused } from './refusal.ts'
import type { Closing, Placed } from './state.ts'

export type OrderDecision = Decision<OrderFact, Refused['refused']>

type DataOf<Type extends OrderFact['type']> = Extract<OrderFact, { type: Type }>['data']

/** Of facts that had another shape before. */
const VERSIONS: Partial<Record<OrderFact['type'], number>> = { InvalidChannelOpening: 2, OutpointNamed: 2 }

export const fact = <Type extends OrderFact['type']>(type: Type, data: DataOf<Type>): OrderFact =>
  ({ type, v: VERSIONS[type] ?? 1, data }) as OrderFact // type and data belong together by the signature; the compiler cannot see it through the union

/** What comes too late to change anything, noted once of each kind. */
export const late = (order: Placed, what: string, detail: string | null = null): readonly OrderFact[] =>
  order.late.includes(what) ? [] : [fact('LateNoted', { what, detail })]

/** The fact that ends an order without a channel. */
export function ending(order: Placed, { to, reason, blamed, by }: Closing, lastHeight = false): OrderFact {
  switch (to) {
    case 'SELLER_REJECTED':
      return fact('SellerRejected', { reason, record: null })
    case 'BUYER_REJECTED':
      return fact('BuyerRejected', { reason })
    case 'BUYER_FAILED_TO_PAY':
      return fact('BuyerFailedToPay', { reason })
    case 'SELLER_FAILED_TO_OPEN_CHANNEL':
      return fact('SellerFailedToOpenChannel', { reason, blamed, lastHeight })
    case 'SELLER_FAILED_TO_SEND_SWAP':
      return fact('SellerFailedToSendSwap', { attempt: namedBy(order), reason, lastHeight })
    case 'INVALID_CHANNEL_OPENING':
      return fact('InvalidChannelOpening', { attempt: namedBy(order), reason, blamed, lastHeight })
    case 'ADMIN_CLOSED':
      return fact('AdminClosed', { by: by ?? 'operator', reason })
  }
}

function namedBy({ named }: Placed): number {
  must(named, 'only an outpoint that was named can fail so')
  return named.attempt
}

/** Without an invoice an order ends at once; with one it closes, and ends when the node has cancelled it. */
export const release = (order: Placed, to: ReleaseTo, reason: string, blamed = false, by: string | null = null): OrderFact => {
  const closing = { to, reason, blamed, by }
  return order.hold === 'none' || order.hold === 'asked' ? ending(order, closing) : fact('ReleaseRequested', closing)
}
