import { isFailure, type OrderStatus } from '@penstock/kernel/order-status.ts'
import { SAT_PER_BTC } from '@penstock/kernel/money.ts'
import { BLOCK_SECONDS } from '@penstock/kernel/time.ts'
import { dollars } from '@penstock/market/market.ts'
import { channelOf, type StoredOrder } from '../read/orders.ts'
import { currentAttempt, type OrderView } from '../views/order-view.ts'
import { owedToBuyerMsat } from '../views/owed.ts'
import { isFinal, type Step, timelineOf } from './timeline.ts'
import { type Words, words } from './words.ts'

/** Which of its faces the page shows. */
export type Stage = 'approval' | 'pay' | 'late' | 'progress' | 'done' | 'ended'

/** An order as its pages show it. The order's id is in none of it. */
export type OrderPage = {
  readonly stage: Stage
  readonly status: OrderStatus
  readonly headline: string
  readonly lead: string
  /** Where the buyer's money is when there is no channel. */
  readonly money: string | null
  /** Why it ended, or is about to. */
  readonly reason: string | null
  /** Nothing comes any more: no page has to stay connected. */
  readonly isFinal: boolean
  readonly sats: string
  readonly usd: string | null
  readonly invoice: string | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null
  readonly progress: { readonly confirmations: number; readonly required: number } | null
  /** In sats, what is owed to the buyer and waits for its invoice. */
  readonly owed: string | null
  readonly steps: readonly Step[]
  readonly details: readonly Detail[]
}
export type Detail = { readonly name: string; readonly value: string; readonly isCode?: boolean }

/** @param rejectedBecause in the seller's own words, where it rejected the order */
export function orderPageOf(found: StoredOrder, now: number, rejectedBecause?: string): OrderPage {
  const { order } = found
  const stage = stageOf(found, now)
  const said = wordsOf(order.status, stage)
  return {
    stage,
    status: order.status,
    headline: order.closing && stage !== 'ended' ? 'This order is being closed' : said.headline,
    lead:
      order.closing && stage !== 'ended'
        ? 'Its payment is on the way back; the status follows when our node has confirmed that.'
        : said.lead,
    money: moneyOf(found, stage),
    reason: stage === 'ended' ? (rejectedBecause ?? order.reason) : (order.closing?.reason ?? null),
    isFinal: isFinal(order.status),
    sats: grouped(order.terms.priceSat),
    usd: usdOf(order),
    invoice: stage === 'pay' ? (order.invoice?.request ?? null) : null,
    expiresAt: stage === 'pay' ? (order.invoice?.expiresAt ?? null) : null,
    progress: progressOf(found),
    owed: owedOf(found),
    steps: timelineOf(order),
    details: detailsOf(found),
  }
}

/** What changes with anything that the page shows: a visitor's page is old when this is another. */
export const versionOf = ({ order, hold, channel }: StoredOrder): string =>
  [order.updatedAt, order.status, hold?.status, hold?.owed.creditor, hold?.payout?.state, channel?.confirmations].join(' ')

function stageOf({ order, hold }: StoredOrder, now: number): Stage {
  const { status, invoice, closing, held } = order
  if (isFailure(status)) return 'ended'
  if (isFinal(status)) return 'done'
  if (status === 'WAITING_FOR_SELLER_APPROVAL') return 'approval'
  if (status !== 'WAITING_FOR_BUYER_PAYMENT' || closing || held || isLocked(hold)) return 'progress'
  return invoice && invoice.expiresAt > now ? 'pay' : 'late'
}

/** Settlement may have the payment before the order hears of it, and the order has it before a seller is found. */
const isLocked = (hold: StoredOrder['hold']): boolean =>
  hold?.status === 'held' || hold?.status === 'settling' || hold?.status === 'settled'

function wordsOf(status: OrderStatus, stage: Stage): Words {
  if (stage === 'late') return words.BUYER_FAILED_TO_PAY
  return words[stage === 'progress' && status === 'WAITING_FOR_BUYER_PAYMENT' ? 'WAITING_FOR_CHANNEL_OPEN' : status]
}

function moneyOf({ order, hold }: StoredOrder, stage: Stage): string | null {
  if (stage !== 'late' && stage !== 'ended') return null
  const wasPaid = order.held !== null || (hold?.expiryHeight ?? null) !== null
  if (!wasPaid) return 'Nothing was paid.'
  return hold?.status === 'cancelling'
    ? 'Your payment is on its way back to your wallet.'
    : 'Your payment was released: it is back in your wallet.'
}

/** The seller's share, where it goes back to the buyer and no invoice of the buyer is there. */
function owedOf({ hold }: StoredOrder): string | null {
  const owedMsat = hold && owedToBuyerMsat(hold.owed)
  return owedMsat === undefined
    ? null
    : `${grouped(`${owedMsat / 1000n}`)}${owedMsat % 1000n === 0n ? '' : `.${`${owedMsat % 1000n}`.padStart(3, '0')}`}`
}

/** Shown while blocks are waited for. */
function progressOf(found: StoredOrder): OrderPage['progress'] {
  const { order } = found
  if (order.status !== 'ON_CHAIN_CONFIRMATION' && order.status !== 'WAITING_FOR_ON_CHAIN_CONFIRMATION') return null
  // Never fewer than the market's own, whatever was asked for.
  const required = Math.max(order.terms.requiredConfirmations, order.terms.policy.requiredConfirmations)
  const seen = Math.max(order.confirmations, channelOf(found)?.confirmations ?? 0)
  return { confirmations: Math.min(seen, required), required }
}

function detailsOf(found: StoredOrder): readonly Detail[] {
  const { order } = found
  const { terms } = order
  const attempt = order.attempts.find((one) => one.attempt === currentAttempt(order))
  const channelId = order.channelId ?? channelOf(found)?.channelId ?? null
  return [
    { name: 'Capacity to receive', value: `${grouped(terms.sizeSat)} sat` },
    { name: 'Channel', value: terms.isPrivate ? 'private' : 'public' },
    { name: 'Stays open for', value: `${grouped(terms.leaseBlocks)} blocks, about ${daysOf(terms.leaseBlocks)}` },
    { name: 'Your node', value: terms.destination.pubkey, isCode: true },
    { name: 'Seller', value: (attempt?.candidate ?? terms.candidate).sellerPubkey, isCode: true },
    ...(order.outpoint === null ? [] : [{ name: 'Funding outpoint', value: order.outpoint, isCode: true }]),
    ...(channelId === null ? [] : [{ name: 'Channel id', value: channelId, isCode: true }]),
  ]
}

function daysOf(blocks: number): string {
  const days = Math.round((blocks * BLOCK_SECONDS) / 86_400)
  return days < 2 ? 'a day' : `${days} days`
}

/** As it was ordered in dollars, else at the rate that is recorded on the order. */
function usdOf({ terms }: OrderView): string | null {
  if (terms.usdCents !== null) return dollars(BigInt(terms.usdCents))
  return terms.rate && dollars((BigInt(terms.priceSat) * BigInt(terms.rate.centsPerBtc)) / SAT_PER_BTC)
}

/** `1,234,567`, as all pages write numbers. */
export const grouped = (amount: string | number): string => `${amount}`.replace(/\B(?=(\d{3})+$)/g, ',')
