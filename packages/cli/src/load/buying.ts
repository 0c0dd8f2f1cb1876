import { at, type Market, textAt } from './market.ts'
import type { LoadOrder } from './order.ts'
import type { Arrival } from './schedule.ts'
import type { BuyerNode } from './world.ts'

const USD_CENTS = '500'

const BUY = `mutation Load($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url } } } }`
const MANUAL = `mutation Load($input: CreateManualOrderInput!) { market { order { create(input: $input) { id status } } } }`
const CANCEL = 'mutation Load($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const ORDER = `query Load($id: String!) { user { market { orders { get_order(order_id: $id) {
  status timeout payment { lightning { invoice } } } } } } }`

/** Who buys by hand: an account, and the offer that it buys from. */
export type ManualBuyer = { readonly bearer: string; readonly offerId: string; readonly sizeSat: string }

export async function buy(market: Market, { uri }: BuyerNode, { kind, isPrivate }: Arrival) {
  const input = { connection_uri: uri, usd_cents: USD_CENTS, options: { private: isPrivate } }
  const bought = at(await market.graphql(BUY, { input }), 'liquidity.buy')
  const order = begun({
    id: textAt(bought, 'order.transaction_id'),
    kind,
    bearer: textAt(bought, 'account.session_key'),
    status: 'WAITING_FOR_BUYER_PAYMENT',
  })
  order.invoice = textAt(bought, 'payment.lightning_invoice')
  return { order, page: textAt(bought, 'payment.redirect_url') }
}

export async function orderByLsps1(market: Market, { pubkey }: BuyerNode, { kind, isPrivate }: Arrival): Promise<LoadOrder> {
  const lspType = 'cheapest'
  const info = await market.lsps1('GET', `/${lspType}/get_info`)
  const answer = await market.lsps1('POST', `/${lspType}/create_order`, {
    lsp_balance_sat: textAt(info, 'min_initial_lsp_balance_sat'),
    client_balance_sat: '0',
    required_channel_confirmations: at(info, 'min_required_channel_confirmations'),
    funding_confirms_within_blocks: at(info, 'min_funding_confirms_within_blocks'),
    channel_expiry_blocks: at(info, 'max_channel_expiry_blocks'),
    token: '',
    announce_channel: !isPrivate,
    public_key: pubkey,
  })
  const order = begun({ id: textAt(answer, 'order_id'), kind, bearer: null, lspType, status: lspStatus(answer) })
  order.invoice = textAt(answer, 'payment.bolt11.invoice')
  return order
}

/** The invoice comes later, when the seller has accepted. */
export async function orderByHand(market: Market, { pubkey }: BuyerNode, buyer: ManualBuyer, { kind, isPrivate }: Arrival) {
  const input = { offer_id: buyer.offerId, pubkey, size: buyer.sizeSat, payment_method: 'SATS', options: { private: isPrivate } }
  const placed = at(await market.graphql(MANUAL, { input }, buyer.bearer), 'market.order.create')
  return begun({ id: textAt(placed, 'id'), kind, bearer: buyer.bearer, status: textAt(placed, 'status') })
}

export async function cancel(market: Market, { id, bearer }: LoadOrder): Promise<void> {
  await market.graphql(CANCEL, { input: { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' } }, bearer ?? undefined)
}

/** Asks how the order stands, and writes it down. */
export async function look(market: Market, order: LoadOrder): Promise<void> {
  if (order.lspType !== null) {
    order.status = lspStatus(await market.lsps1('GET', `/${order.lspType}/get_order?order_id=${order.id}`))
    return
  }
  const seen = at(await market.graphql(ORDER, { id: order.id }, order.bearer ?? undefined), 'user.market.orders.get_order')
  order.status = textAt(seen, 'status')
  const [invoice, timeout] = [at(seen, 'payment.lightning.invoice'), at(seen, 'timeout')]
  order.timeout = typeof timeout === 'string' ? timeout : null
  if (typeof invoice === 'string') order.invoice = invoice
}

const lspStatus = (answer: Parameters<typeof textAt>[0]): string =>
  `${textAt(answer, 'order_state')} ${textAt(answer, 'payment.bolt11.state')}`

type Begun = Pick<LoadOrder, 'id' | 'kind' | 'bearer' | 'status'> & { readonly lspType?: string }

const begun = ({ lspType, ...order }: Begun): LoadOrder => ({
  ...order,
  lspType: lspType ?? null,
  invoice: null,
  timeout: null,
  stage: 'ordered',
  paid: null,
  isPaymentUnsure: false,
})
