import { isFailure, isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import { msatToSatCeil, msatToSatFloor, SAT_PER_BTC } from '@penstock/kernel/money.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import { buildCheckoutUrl } from '../../pages/page-url.ts'
import type { Gateway } from '../../ports.ts'
import { getCurrentChannel } from '../read/orders.ts'
import { readRejectionReason } from '../read/rejection-reason.ts'
import type { OrderInRole, AccountRole } from '../read/sales.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { AttemptView, OrderView } from '../views/order-view.ts'
import { computeBroadcastUntilHeight, getCurrentAttempt } from '../views/order-view.ts'
import { getSellerStatus } from '../views/sales.ts'
import { toPayoutRecord, readSellerPaymentStatus } from './payout-record.ts'
import { toRefundRecord } from '../refund/refund-record.ts'
import type { describeList, ListPage } from '../../list-page.ts'

type OrderRecordPorts = Pick<Gateway, 'lookUpNode' | 'records' | 'pepper' | 'baseUrl'>

/** Returns a page of orders. @param listInfo the page's id and its place in the whole list */
export const toOrderListRecord = (
  gateway: OrderRecordPorts,
  listInfo: ReturnType<typeof describeList>,
  { total, list }: ListPage<OrderInRole>,
) => ({
  ...listInfo,
  total,
  total_count: total,
  list: list.map((found) => toOrderRecord(gateway, found)),
})

/** Returns an order as the API shows it to its buyer or a seller, in lists too. */
export function toOrderRecord(gateway: OrderRecordPorts, orderInRole: OrderInRole) {
  const { order, role } = orderInRole
  const channel = getCurrentChannel(orderInRole)
  const { terms } = order
  const attempt = findShownAttempt(order, role)
  const candidate = getShownCandidate(orderInRole)
  const id = order.id
  const isSeller = role.kind === 'seller'
  // A replaced seller does not see its successor's channel.
  const maySeeChannel = !isSeller || role.isCurrent
  return {
    id,
    transaction_id: id,
    status: isSeller ? getSellerStatus(order, role) : order.status,
    payment_status: isSeller ? readSellerPaymentStatus(orderInRole) : order.paymentStatus,
    created_at: isoTime(order.createdAt),
    timeout: readTimeout(order, attempt),
    channel_id: maySeeChannel ? (order.channelId ?? channel?.channelId ?? null) : null,
    outpoint: maySeeChannel ? order.outpoint : null,
    size: terms.sizeSat,
    amount: { id, satoshi: { id: `${id}/size`, sats: terms.sizeSat } },
    asset: toAssetRecord(terms.assetId),
    source: toNodeRecord(gateway, `${id}/source/${candidate.sellerPubkey}`, { pubkey: candidate.sellerPubkey, sockets: [] }),
    destination: toNodeRecord(gateway, `${id}/destination`, terms.destination),
    fees: toFeesRecord(order, candidate),
    options: { id, private: terms.isPrivate, rails_cluster_only: terms.railsOnly, asset_id: terms.assetId },
    // The watcher continues to count after the order has enough confirmations.
    confirmations: { id, confirmations: maySeeChannel ? Math.max(order.confirmations, channel?.confirmations ?? 0) : 0 },
    blocks_until_can_be_closed: maySeeChannel ? countBlocksLeft(order, channel) : null,
    payment: {
      id,
      redirect_url: isSeller ? null : buildCheckoutUrl(gateway, id),
      lightning: { id, invoice: isSeller ? null : (order.invoice?.request ?? null), pending: isInvoicePending(order) },
    },
    promises: toPromisesRecord(id, candidate.promises),
    payout: isSeller ? toPayoutRecord(orderInRole, candidate, attempt) : null,
    refund: isSeller ? null : toRefundRecord(gateway, orderInRole),
    is_seller: isSeller,
    action_needed: role.actionNeeded,
    closing: maySeeChannel ? readCancellationReason(orderInRole) : null,
    broadcast_until_height: isSeller && maySeeChannel && attempt ? computeBroadcastUntilHeight(order, attempt.attempt) : null,
    reason: async () => (isSeller && attempt?.reason) || ((await readRejectionReason(gateway, order)) ?? order.reason),
  }
}

export const toAssetRecord = (assetId: string | null) => ({ id: assetId ?? 'BTC', symbol: assetId ?? 'BTC' })

/** @param id unique per order or offer, because two orders may have different addresses of the same node */
export const toNodeRecord = (
  { lookUpNode }: Pick<Gateway, 'lookUpNode'>,
  id: string,
  { pubkey, sockets }: OrderView['terms']['destination'],
) => ({
  id,
  pubkey,
  alias: async () => (await lookUpNode(pubkey)).alias,
  sockets: async () => (sockets.length > 0 ? sockets : (await lookUpNode(pubkey)).sockets),
})

// The node may cancel a payment by itself, without a recorded reason.
const PAYMENT_RETURNS = 'The payment goes back.'

/** Returns the reason why the payment is cancelled: from the order, or from settlement, whose view may be newer. */
function readCancellationReason({ order, hold }: OrderInRole): string | null {
  if (!isOpenStatus(order.status) || hold?.status === 'settling' || hold?.status === 'settled') return null
  if (order.closing) return order.closing.reason
  return hold?.status === 'cancelling' || hold?.status === 'cancelled' ? (hold.reason ?? PAYMENT_RETURNS) : null
}

/** Whether the order can still get an invoice. It gets none after a failure, or after a request to release its payment. */
const isInvoicePending = ({ invoice, closing, status }: OrderView): boolean =>
  invoice === null && closing === null && !isFailure(status)

/** Finds the attempt that a role is shown: the current attempt for the buyer, its own attempt for a seller. */
function findShownAttempt(order: OrderView, role: AccountRole): AttemptView | undefined {
  const number = role.kind === 'seller' ? role.attempt : getCurrentAttempt(order)
  return order.attempts.find(({ attempt }) => attempt === number)
}

/** Returns the seller and its terms that this role is shown. */
export const getShownCandidate = ({ order, role }: Pick<OrderInRole, 'order' | 'role'>): AttemptView['candidate'] =>
  findShownAttempt(order, role)?.candidate ?? order.terms.candidate

function readTimeout({ status, terms, invoice }: OrderView, attempt: AttemptView | undefined): string | null {
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

/** Counts the channel lease's remaining blocks at the watcher's last height: all before its start, and 0 after its end. */
function countBlocksLeft({ terms }: OrderView, channel: ChannelView | undefined): number | null {
  // The view has `lease` only after the end of the channel lease.
  if (channel?.lease) return 0
  if (!channel || channel.leaseEndsAtHeight === null || channel.tipHeight === null) return terms.leaseBlocks
  return Math.max(0, channel.leaseEndsAtHeight - channel.tipHeight)
}

/** The buyer's price in dollars: the ordered amount, else the price in sat at the recorded rate. Null without both. */
function computeUsdPrice({ terms }: OrderView): string | null {
  if (terms.usdCents !== null) return formatDollars(BigInt(terms.usdCents))
  if (terms.rate === null) return null
  return formatDollars((BigInt(terms.priceSat) * BigInt(terms.rate.centsPerBtc)) / SAT_PER_BTC)
}

const formatDollars = (cents: bigint): string => `${cents / 100n}.${`${cents % 100n}`.padStart(2, '0')}`

/** The parts of the price in sat. A remainder below one satoshi is part of the platform's fee. */
function toFeesRecord(order: OrderView, { sellerAmountMsat, promises }: AttemptView['candidate']) {
  const { id, terms } = order
  const seller = msatToSatFloor(BigInt(sellerAmountMsat))
  const fixed = BigInt(promises.baseFeeSat)
  // A more expensive replacement reduces the platform's fee, and a cheaper one increases it.
  const platform = BigInt(terms.priceSat) - msatToSatCeil(BigInt(sellerAmountMsat))
  const sats = (part: string, amount: bigint) => ({ id: `${id}/${part}`, sats: `${amount}` })
  return {
    id,
    seller: sats('seller', seller),
    buyer: { id: `${id}/buyer`, sats: terms.priceSat, usd: computeUsdPrice(order) },
    fixed: sats('fixed', fixed),
    variable: sats('variable', seller - fixed),
    // The API's name for the platform's fee.
    amboss: sats('platform', platform),
  }
}

const toPromisesRecord = (id: string, promises: AttemptView['candidate']['promises']) => ({
  id,
  locked_fee_rate: promises.feeRatePpm,
  locked_base_fee: promises.baseFeeSat,
  locked_fee_rate_cap: { id: `${id}/fee-rate-cap`, sats: `${promises.feeRateCapPpm}` },
  locked_base_fee_cap: { id: `${id}/base-fee-cap`, sats: promises.baseFeeCapSat },
  locked_min_block_length: promises.minBlockLength,
  locked_onchain_priority: promises.onchainPriority,
  locked_onchain_multiplier: promises.onchainMultiplier,
})
