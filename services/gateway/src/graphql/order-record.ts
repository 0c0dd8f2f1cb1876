import { isFailure } from '@penstock/kernel/order-status.ts'
import { msatToSatFloor, SAT_PER_BTC } from '@penstock/kernel/money.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../ports.ts'
import { channelOf } from '../read/orders.ts'
import { reasonGiven } from '../read/reason.ts'
import type { OrderInRole, Role } from '../read/sales.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { AttemptView, OrderView } from '../views/order-view.ts'
import { broadcastUntilHeight, currentAttempt } from '../views/order-view.ts'
import { isOpen } from '../views/order-status.ts'
import { statusFor } from '../views/sales.ts'
import { payoutRecord, sellerPaymentStatus } from './payout-record.ts'

/** An order as the public interface shows it to one who takes part in it; lists choose from the same fields. */
export function orderRecord(gateway: Pick<Gateway, 'nodes' | 'records'>, found: OrderInRole) {
  const { order, role } = found
  const channel = channelOf(found)
  const { terms } = order
  const attempt = shownAttempt(order, role)
  const candidate = attempt?.candidate ?? terms.candidate
  const id = order.id
  const isSeller = role.is === 'seller'
  // A seller that was replaced is told nothing of its successor's channel.
  const isMine = !isSeller || role.current
  return {
    id,
    transaction_id: id,
    status: isSeller ? statusFor(order, role) : order.status,
    payment_status: isSeller ? sellerPaymentStatus(found) : order.paymentStatus,
    created_at: isoTime(order.createdAt),
    timeout: timeoutOf(order, attempt),
    channel_id: isMine ? (order.channelId ?? channel?.channelId ?? null) : null,
    outpoint: isMine ? order.outpoint : null,
    size: terms.sizeSat,
    amount: { id, satoshi: { id, sats: terms.priceSat } },
    asset: { id: terms.assetId ?? 'BTC', symbol: terms.assetId === null ? 'BTC' : terms.assetId },
    source: nodeRecord(gateway, `${id}/source/${candidate.sellerPubkey}`, { pubkey: candidate.sellerPubkey, sockets: [] }),
    destination: nodeRecord(gateway, `${id}/destination`, terms.destination),
    fees: {
      id,
      seller: { id: `${id}/seller`, sats: `${msatToSatFloor(BigInt(candidate.sellerAmountMsat))}` },
      buyer: { id: `${id}/buyer`, sats: terms.priceSat, usd: dollarsOf(order) },
    },
    options: { id, private: terms.isPrivate, rails_cluster_only: terms.railsOnly, asset_id: terms.assetId },
    // The watcher counts on after the order needs no more.
    confirmations: { id, confirmations: isMine ? Math.max(order.confirmations, channel?.confirmations ?? 0) : 0 },
    blocks_until_can_be_closed: isMine ? blocksLeft(order, channel) : null,
    payment: {
      id,
      lightning: { id, invoice: isSeller ? null : (order.invoice?.request ?? null), pending: isInvoicePending(order) },
    },
    promises: promisesOf(id, candidate.promises),
    payout: isSeller ? payoutRecord(found, candidate, attempt) : null,
    is_seller: isSeller,
    action_needed: role.actionNeeded,
    closing: isMine ? closingOf(found) : null,
    broadcast_until_height: isSeller && isMine && attempt ? broadcastUntilHeight(order, attempt.attempt) : null,
    reason: async () => (isSeller && attempt?.reason) || ((await reasonGiven(gateway, order)) ?? order.reason),
  }
}

/** Under an id of this order's: where an order says how its node is reached, another order with the same node says something else. */
const nodeRecord = ({ nodes }: Pick<Gateway, 'nodes'>, id: string, { pubkey, sockets }: OrderView['terms']['destination']) => ({
  id,
  pubkey,
  alias: async () => (await nodes(pubkey)).alias,
  sockets: async () => (sockets.length > 0 ? sockets : (await nodes(pubkey)).sockets),
})

// Where the node gave it back by itself nobody has said why.
const GOES_BACK = 'The payment goes back.'

/** Why the payment is on its way back: the order's word, or settlement's, which may be ahead of it. */
function closingOf({ order, hold }: OrderInRole): string | null {
  if (!isOpen(order.status) || hold?.status === 'settling' || hold?.status === 'settled') return null
  if (order.closing) return order.closing.reason
  return hold?.status === 'cancelling' || hold?.status === 'cancelled' ? (hold.reason ?? GOES_BACK) : null
}

/** An order that is over, or about to be, gets no invoice any more. */
const isInvoicePending = ({ invoice, closing, status }: OrderView): boolean =>
  invoice === null && closing === null && !isFailure(status)

/** The buyer sees the attempt that counts, a seller its own. */
function shownAttempt(order: OrderView, role: Role): AttemptView | undefined {
  const number = role.is === 'seller' ? role.attempt : currentAttempt(order)
  return order.attempts.find(({ attempt }) => attempt === number)
}

function timeoutOf({ status, terms, invoice }: OrderView, attempt: AttemptView | undefined): string | null {
  const at =
    status === 'WAITING_FOR_SELLER_APPROVAL'
      ? terms.approveBefore
      : status === 'WAITING_FOR_BUYER_PAYMENT'
        ? invoice?.expiresAt
        : status === 'WAITING_FOR_CHANNEL_OPEN'
          ? attempt?.openBefore
          : null
  return at === null || at === undefined ? null : isoTime(at)
}

/** From the last block that the watcher spoke of; the whole lease as long as it has not begun. */
function blocksLeft({ terms }: OrderView, channel: ChannelView | undefined): number | null {
  if (channel?.lease) return 0
  if (!channel || channel.leaseEndsAtHeight === null || channel.tipHeight === null) return terms.leaseBlocks
  return Math.max(0, channel.leaseEndsAtHeight - channel.tipHeight)
}

/** What the buyer pays, in dollars with cents: as it was ordered, else at the rate that is recorded on the order. */
function dollarsOf({ terms }: OrderView): string | null {
  if (terms.usdCents !== null) return inDollars(BigInt(terms.usdCents))
  if (terms.rate === null) return null
  return inDollars((BigInt(terms.priceSat) * BigInt(terms.rate.centsPerBtc)) / SAT_PER_BTC)
}

const inDollars = (cents: bigint): string => `${cents / 100n}.${`${cents % 100n}`.padStart(2, '0')}`

const promisesOf = (id: string, promises: AttemptView['candidate']['promises']) => ({
  id,
  locked_fee_rate: promises.feeRatePpm,
  locked_base_fee: promises.baseFeeSat,
  locked_fee_rate_cap: promises.feeRateCapPpm,
  locked_base_fee_cap: promises.baseFeeCapSat,
  locked_min_block_length: promises.minBlockLength,
  locked_onchain_priority: promises.onchainPriority,
  locked_onchain_multiplier: promises.onchainMultiplier,
})
