import { isFailure, isPublishedStatus } from '@penstock/contracts/order/lifecycle.ts'
import { BLOCK_SECONDS, isoTime, SECOND_MS } from '@penstock/kernel/time.ts'
import type { StoredOrder } from '../market/read/orders.ts'
import { getDueToBuyerMsat } from '../market/views/payout-due.ts'
import type { OrderView } from '../market/views/order-view.ts'
import type { LspOrder } from './schemas.ts'

const isPublished = ({ status }: OrderView['statuses'][number]): boolean => isPublishedStatus(status)

/** @returns when the current funding transaction was published; undefined before. A replaced transaction does not count. */
function findFundedAt({ statuses }: OrderView): number | undefined {
  const acceptedIndex = statuses.findLastIndex(({ status }) => status === 'SELLER_SENT_TRANSACTION')
  return statuses.slice(acceptedIndex + 1).find(isPublished)?.at
}

/** COMPLETED is final. If the payment is released later, only the payment's state changes, to REFUNDED. */
function readOrderState(order: OrderView): LspOrder['order_state'] {
  if (order.statuses.some(isPublished)) return 'COMPLETED'
  return isFailure(order.status) ? 'FAILED' : 'CREATED'
}

/** An invoice that expired unpaid counts as REFUNDED, because no payment was settled. */
function readPaymentState({ order, hold }: Pick<StoredOrder, 'order' | 'hold'>): LspOrder['payment']['bolt11']['state'] {
  if (hold?.status === 'settled' || order.settledAt !== null) return 'PAID'
  if (isFailure(order.status)) return 'REFUNDED'
  return order.held ? 'HOLD' : 'EXPECT_PAYMENT'
}

function toLspChannel(order: OrderView): LspOrder['channel'] {
  const at = findFundedAt(order)
  if (at === undefined || order.outpoint === null) return null
  const leaseMs = order.terms.leaseBlocks * BLOCK_SECONDS * SECOND_MS
  return { funded_at: isoTime(at), funding_outpoint: order.outpoint, expires_at: isoTime(at + leaseMs) }
}

/**
 * @param token the client's token; empty without a token, or after the deletion of its record
 * @returns undefined for an order that was not placed through LSPS1, or that has no invoice
 */
export function toLspOrder(stored: StoredOrder, token = ''): LspOrder | undefined {
  const { order } = stored
  const { lsps, priceSat } = order.terms
  if (!lsps || !order.invoice) return undefined
  return {
    order_id: order.id,
    lsp_balance_sat: lsps.lspBalanceSat,
    client_balance_sat: lsps.clientBalanceSat,
    required_channel_confirmations: lsps.requiredChannelConfirmations,
    funding_confirms_within_blocks: lsps.fundingConfirmsWithinBlocks,
    channel_expiry_blocks: lsps.channelExpiryBlocks,
    token,
    created_at: isoTime(order.createdAt),
    announce_channel: lsps.announceChannel,
    order_state: readOrderState(order),
    payment: {
      bolt11: {
        state: readPaymentState(stored),
        expires_at: isoTime(order.invoice.expiresAt),
        // The client gets no initial balance, so the whole price is the fee.
        fee_total_sat: priceSat,
        order_total_sat: priceSat,
        invoice: order.invoice.request,
      },
    },
    channel: toLspChannel(order),
  }
}

/** @returns the field `refund` if an amount is owed to the buyer. It lacks the page, because sellers can read this answer. */
export function toLspRefund({ hold }: Pick<StoredOrder, 'hold'>): Pick<LspOrder, 'refund'> {
  const dueMsat = hold && getDueToBuyerMsat(hold.owed)
  return dueMsat === undefined ? {} : { refund: { amount_msat: `${dueMsat}` } }
}
