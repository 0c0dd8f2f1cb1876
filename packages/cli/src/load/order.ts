import type { Kind } from './shares.ts'

/** How far an order has come, as its buyer sees it. */
export const STAGES = ['ordered', 'held', 'opening', 'settled'] as const
export type Stage = (typeof STAGES)[number]

export type Paid = { readonly hash: string; readonly amountMsat: bigint }

/** One order of the run. What is seen of it is written here as it comes. */
export type LoadOrder = {
  readonly id: string
  readonly kind: Kind
  /** null: LSPS1 knows no key but the order's id. */
  readonly bearer: string | null
  readonly lspType: string | null
  invoice: string | null
  /** As the interface writes it; LSPS1 has two words for it. */
  status: string
  /** When the present wait ends by the market's own word; null where nobody says. */
  timeout: string | null
  stage: Stage
  paid: Paid | null
  /** A payment was sent, and nobody said whether it arrived. */
  isPaymentUnsure: boolean
}

const HELD = new Set(['WAITING_FOR_CHANNEL_OPEN'])
const OPENING = new Set([
  'SELLER_SENT_TRANSACTION',
  'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  'ON_CHAIN_CONFIRMATION',
  'SELLER_OPENED_CHANNEL',
])
const SOLD = new Set(['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'])
const UNSOLD = new Set([
  'SELLER_REJECTED',
  'SELLER_FAILED_TO_REACT',
  'BUYER_REJECTED',
  'BUYER_FAILED_TO_PAY',
  'SELLER_FAILED_TO_OPEN_CHANNEL',
  'SELLER_FAILED_TO_SEND_SWAP',
  'INVALID_CHANNEL_OPENING',
  'ADMIN_CLOSED',
])

export const isSold = (status: string): boolean => SOLD.has(status) || status === 'COMPLETED PAID'
export const isEnded = (status: string): boolean => isSold(status) || UNSOLD.has(status) || status.endsWith(' REFUNDED')

/** @param status of GraphQL, or the two states of LSPS1; @returns undefined where it says nothing of the kind */
export function stageOf(status: string): Stage | undefined {
  if (isSold(status)) return 'settled'
  if (OPENING.has(status) || status === 'COMPLETED HOLD') return 'opening'
  if (HELD.has(status) || status === 'CREATED HOLD') return 'held'
  return undefined
}

/** Whether the buyer's payment was sent, or is seen. */
export const isPaid = ({ paid, status }: Pick<LoadOrder, 'paid' | 'status'>): boolean =>
  paid !== null || stageOf(status) !== undefined

/** Who an order that has not ended waits for; undefined where nobody can be named. */
export function partyOf({ status }: Pick<LoadOrder, 'status'>): string | undefined {
  if (status === 'WAITING_FOR_SELLER_APPROVAL') return 'the seller, to accept'
  if (status === 'WAITING_FOR_BUYER_PAYMENT' || status === 'CREATED EXPECT_PAYMENT') return 'the buyer, to pay'
  if (status === 'WAITING_FOR_CHANNEL_OPEN' || status === 'CREATED HOLD') return 'the seller, to open'
  if (OPENING.has(status) || status === 'COMPLETED HOLD') return 'the chain, to confirm'
  return undefined
}

const MSAT_OF = { '': 100_000_000_000n, m: 100_000_000n, u: 100_000n, n: 100n } as const

/** The amount in the readable part of an invoice (BOLT 11). @returns null where it has none, or none that is a whole msat */
export function msatOf(invoice: string): bigint | null {
  const [, digits, unit] = /^ln(?:bcrt|tbs|tb|sb|bc)(\d+)([munp]?)1/.exec(invoice.toLowerCase()) ?? []
  if (digits === undefined || unit === undefined) return null
  if (unit === 'p') return BigInt(digits) % 10n === 0n ? BigInt(digits) / 10n : null
  return BigInt(digits) * (unit === 'm' || unit === 'u' || unit === 'n' ? MSAT_OF[unit] : MSAT_OF[''])
}
