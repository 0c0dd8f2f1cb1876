/** Statuses of an order in the order in which a sale passes through them; the last two have a channel and a payment. */
const ofSale = [
  'WAITING_FOR_SELLER_APPROVAL',
  'WAITING_FOR_BUYER_PAYMENT',
  'WAITING_FOR_CHANNEL_OPEN',
  'SELLER_SENT_TRANSACTION',
  'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  'ON_CHAIN_CONFIRMATION',
  'SELLER_OPENED_CHANNEL',
  'VALID_CHANNEL_OPENING',
  'CHANNEL_MONITORING_FINISHED',
] as const

/** Ends without a channel: the buyer has paid nothing, or has it back. */
const ofFailure = [
  'SELLER_REJECTED',
  'SELLER_FAILED_TO_REACT',
  'BUYER_REJECTED',
  'BUYER_FAILED_TO_PAY',
  'SELLER_FAILED_TO_OPEN_CHANNEL',
  'SELLER_FAILED_TO_SEND_SWAP',
  'INVALID_CHANNEL_OPENING',
  'ADMIN_CLOSED',
] as const

export const orderStatuses = [...ofSale, ...ofFailure] as const
export type OrderStatus = (typeof orderStatuses)[number]

/** Readers of an older release may meet a status that they do not know: it is none of these. */
const RANKS: ReadonlyMap<string, number> = new Map(orderStatuses.map((status, rank) => [status, rank]))
const rank = (status: string): number => RANKS.get(status) ?? -1

export const isAfter = (status: OrderStatus, other: OrderStatus): boolean => rank(status) > rank(other)
export const isFailure = (status: string): boolean => rank(status) >= ofSale.length
export const isSale = (status: string): boolean => status === 'VALID_CHANNEL_OPENING' || status === 'CHANNEL_MONITORING_FINISHED'
