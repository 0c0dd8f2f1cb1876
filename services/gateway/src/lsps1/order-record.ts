import { isFailure, type OrderStatus } from '@penstock/kernel/order-status.ts'
import { BLOCK_SECONDS, isoTime, SECOND_MS } from '@penstock/kernel/time.ts'
import type { StoredOrder } from '../read/orders.ts'
import type { OrderView } from '../views/order-view.ts'
import type { LspOrder } from './schemas.ts'

/** The statuses that begin when the funding transaction is published with its output as promised. */
const published: ReadonlySet<OrderStatus> = new Set([
  'WAITING_FOR_ON_CHAIN_CONFIRMATION',
  'ON_CHAIN_CONFIRMATION',
  'SELLER_OPENED_CHANNEL',
  'VALID_CHANNEL_OPENING',
])

const isPublished = ({ status }: OrderView['statuses'][number]): boolean => published.has(status)

/** When the funding that counts was published. @returns undefined before, also where another one was published that it replaced */
function fundedAt({ statuses }: OrderView): number | undefined {
  const named = statuses.findLastIndex(({ status }) => status === 'SELLER_SENT_TRANSACTION')
  return statuses.slice(named + 1).find(isPublished)?.at
}

/** COMPLETED stands for good: where the payment is released after all, that shows as REFUNDED. */
function orderStateOf(order: OrderView): LspOrder['order_state'] {
  if (order.statuses.some(isPublished)) return 'COMPLETED'
  return isFailure(order.status) ? 'FAILED' : 'CREATED'
}

/** An invoice that expired unpaid counts as refunded: nothing was taken. */
function paymentStateOf({ order, hold }: Pick<StoredOrder, 'order' | 'hold'>): LspOrder['payment']['bolt11']['state'] {
  if (hold?.status === 'settled' || order.settledAt !== null) return 'PAID'
  if (isFailure(order.status)) return 'REFUNDED'
  return order.held ? 'HOLD' : 'EXPECT_PAYMENT'
}

function channelOf(order: OrderView): LspOrder['channel'] {
  const at = fundedAt(order)
  if (at === undefined || order.outpoint === null) return null
  const leaseMs = order.terms.leaseBlocks * BLOCK_SECONDS * SECOND_MS
  return { funded_at: isoTime(at), funding_outpoint: order.outpoint, expires_at: isoTime(at + leaseMs) }
}

/**
 * @param token as the client sent it, for as long as it is kept
 * @returns undefined for an order that was not placed through LSPS1, or that never had an invoice to answer with
 */
export function lspOrderOf(found: StoredOrder, token = ''): LspOrder | undefined {
  const { order } = found
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
    order_state: orderStateOf(order),
    payment: {
      bolt11: {
        state: paymentStateOf(found),
        expires_at: isoTime(order.invoice.expiresAt),
        // The client gets no balance of its own, so all of it is the fee.
        fee_total_sat: priceSat,
        order_total_sat: priceSat,
        invoice: order.invoice.request,
      },
    },
    channel: channelOf(order),
  }
}
