import { isFailure, isOpenStatus, type OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import { SAT_PER_BTC } from '@penstock/kernel/money.ts'
import { BLOCK_SECONDS } from '@penstock/kernel/time.ts'
import { formatUsd } from '@penstock/market/market.ts'
import { getCurrentChannel, type StoredOrder } from '../market/read/orders.ts'
import { getCurrentAttempt, type OrderView } from '../market/views/order-view.ts'
import { getDueToBuyerMsat } from '../market/views/payout-due.ts'
import { type TimelineStep, buildTimeline } from './timeline.ts'
import { type StatusText, statusTexts } from './status-text.ts'

/** The section that the page shows. */
export type PageStage = 'approval' | 'pay' | 'late' | 'progress' | 'done' | 'ended'

/** An order as its pages show it. No field contains the order's id. */
export type OrderPage = {
  readonly stage: PageStage
  readonly status: OrderStatus
  readonly headline: string
  readonly lead: string
  /** Sentence about the buyer's payment if there is no channel; else null. */
  readonly money: string | null
  /** The reason why the order ended, or is being released. */
  readonly reason: string | null
  /** Whether the order is final, so that its pages need no event stream. */
  readonly isFinal: boolean
  readonly sats: string
  readonly usd: string | null
  readonly invoice: string | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null
  /** The server's time, because a visitor's clock may be wrong. */
  readonly now: number
  readonly progress: { readonly confirmations: number; readonly required: number } | null
  /** Amount in sats that is owed to the buyer and needs the buyer's invoice. */
  readonly owed: string | null
  readonly steps: readonly TimelineStep[]
  readonly details: readonly PageDetail[]
}
export type PageDetail = { readonly name: string; readonly value: string; readonly isCode?: boolean }

/** @param rejectionReason the seller's text, if the seller rejected the order */
export function buildOrderPage(stored: StoredOrder, now: number, rejectionReason?: string): OrderPage {
  const { order } = stored
  const stage = selectStage(stored, now)
  const statusText = selectStatusText(order.status, stage)
  return {
    stage,
    status: order.status,
    headline: order.closing && stage !== 'ended' ? 'This order is being closed' : statusText.headline,
    lead:
      order.closing && stage !== 'ended'
        ? 'Its payment is on the way back; the status follows when our node has confirmed that.'
        : statusText.lead,
    money: describeMoney(stored, stage),
    reason: stage === 'ended' ? (rejectionReason ?? order.reason) : (order.closing?.reason ?? null),
    isFinal: !isOpenStatus(order.status),
    sats: groupDigits(order.terms.priceSat),
    usd: formatOrderUsd(order),
    invoice: stage === 'pay' ? (order.invoice?.request ?? null) : null,
    expiresAt: stage === 'pay' ? (order.invoice?.expiresAt ?? null) : null,
    now,
    progress: readProgress(stored),
    owed: formatOwed(stored),
    steps: buildTimeline(order),
    details: listDetails(stored),
  }
}

/** Returns a text that changes with the data of the page. A page with another version is out of date. */
export const computePageVersion = ({ order, hold, channel }: StoredOrder): string =>
  [
    order.updatedAt,
    order.status,
    // Two facts of one millisecond have the same time.
    order.invoice !== null,
    order.held !== null,
    order.closing !== null,
    hold?.status,
    hold?.owed.creditor,
    hold?.payout?.state,
    channel?.confirmations,
  ].join(' ')

function selectStage({ order, hold }: StoredOrder, now: number): PageStage {
  const { status, invoice, closing, held } = order
  if (isFailure(status)) return 'ended'
  if (!isOpenStatus(status)) return 'done'
  if (status === 'WAITING_FOR_SELLER_APPROVAL') return 'approval'
  if (status !== 'WAITING_FOR_BUYER_PAYMENT' || closing || held || isLocked(hold)) return 'progress'
  return invoice && invoice.expiresAt > now ? 'pay' : 'late'
}

/** Whether settlement holds or has settled the payment. The order records this later. */
const isLocked = (hold: StoredOrder['hold']): boolean =>
  hold?.status === 'held' || hold?.status === 'settling' || hold?.status === 'settled'

function selectStatusText(status: OrderStatus, stage: PageStage): StatusText {
  if (stage === 'late') return statusTexts.BUYER_FAILED_TO_PAY
  return statusTexts[stage === 'progress' && status === 'WAITING_FOR_BUYER_PAYMENT' ? 'WAITING_FOR_CHANNEL_OPEN' : status]
}

function describeMoney({ order, hold }: StoredOrder, stage: PageStage): string | null {
  if (stage !== 'late' && stage !== 'ended') return null
  const wasPaid = order.held !== null || (hold?.expiryHeight ?? null) !== null
  if (!wasPaid) return 'Nothing was paid.'
  return hold?.status === 'cancelling'
    ? 'Your payment is on its way back to your wallet.'
    : 'Your payment was released: it is back in your wallet.'
}

/** Formats the seller's share if it is owed to the buyer and the buyer has submitted no invoice. */
function formatOwed({ hold }: StoredOrder): string | null {
  const owedMsat = hold && getDueToBuyerMsat(hold.owed)
  return owedMsat === undefined
    ? null
    : `${groupDigits(`${owedMsat / 1000n}`)}${owedMsat % 1000n === 0n ? '' : `.${`${owedMsat % 1000n}`.padStart(3, '0')}`}`
}

/** Returns the confirmations while the order waits for them; else null. */
function readProgress(stored: StoredOrder): OrderPage['progress'] {
  const { order } = stored
  if (order.status !== 'ON_CHAIN_CONFIRMATION' && order.status !== 'WAITING_FOR_ON_CHAIN_CONFIRMATION') return null
  // The policy's number of confirmations is a minimum; the order may require fewer.
  const required = Math.max(order.terms.requiredConfirmations, order.terms.policy.requiredConfirmations)
  const confirmations = Math.max(order.confirmations, getCurrentChannel(stored)?.confirmations ?? 0)
  return { confirmations: Math.min(confirmations, required), required }
}

function listDetails(stored: StoredOrder): readonly PageDetail[] {
  const { order } = stored
  const { terms } = order
  const attempt = order.attempts.find((one) => one.attempt === getCurrentAttempt(order))
  const channelId = order.channelId ?? getCurrentChannel(stored)?.channelId ?? null
  return [
    { name: 'Capacity to receive', value: `${groupDigits(terms.sizeSat)} sat` },
    { name: 'Channel', value: terms.isPrivate ? 'private' : 'public' },
    { name: 'Stays open for', value: `${groupDigits(terms.leaseBlocks)} blocks, about ${formatDays(terms.leaseBlocks)}` },
    { name: 'Your node', value: terms.destination.pubkey, isCode: true },
    { name: 'Seller', value: (attempt?.candidate ?? terms.candidate).sellerPubkey, isCode: true },
    ...(order.outpoint === null ? [] : [{ name: 'Funding outpoint', value: order.outpoint, isCode: true }]),
    ...(channelId === null ? [] : [{ name: 'Channel id', value: channelId, isCode: true }]),
  ]
}

function formatDays(blocks: number): string {
  const days = Math.round((blocks * BLOCK_SECONDS) / 86_400)
  return days < 2 ? 'a day' : `${days} days`
}

/** Formats the price in dollars: the ordered amount, else the price in sat at the recorded rate. */
function formatOrderUsd({ terms }: OrderView): string | null {
  if (terms.usdCents !== null) return formatUsd(BigInt(terms.usdCents))
  return terms.rate && formatUsd((BigInt(terms.priceSat) * BigInt(terms.rate.centsPerBtc)) / SAT_PER_BTC)
}

/** Formats a number as all pages do, such as `1,234,567`. */
export const groupDigits = (amount: string | number): string => `${amount}`.replace(/\B(?=(\d{3})+$)/g, ',')
