import { getValueAt, type LoadMarket, getTextAt } from '../market/load-market.ts'
import type { LoadOrder } from './load-order.ts'
import type { Arrival } from './arrival-schedule.ts'
import type { BuyerNode } from '../market/targets.ts'

const USD_CENTS = '500'

const BUY_MUTATION = `mutation Load($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url } } } }`
const CREATE_ORDER_MUTATION = `mutation Load($input: CreateManualOrderInput!) { market { order { create(input: $input) { id status } } } }`
const CANCEL_MUTATION = 'mutation Load($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const GET_ORDER_QUERY = `query Load($id: String!) { user { market { orders { get_order(order_id: $id) {
  status timeout payment { lightning { invoice } } } } } } }`

/** The buyer of manual orders: an account, and the offer that it buys from. */
export type ManualBuyer = { readonly bearer: string; readonly offerId: string; readonly sizeSat: string }

export async function placeBuyOrder(
  market: LoadMarket,
  { uri }: BuyerNode,
  { kind, isPrivate }: Pick<Arrival, 'kind' | 'isPrivate'>,
) {
  const input = { connection_uri: uri, usd_cents: USD_CENTS, options: { private: isPrivate } }
  const purchase = getValueAt(await market.graphql(BUY_MUTATION, { input }), 'liquidity.buy')
  const order = createLoadOrder({
    id: getTextAt(purchase, 'order.transaction_id'),
    kind,
    bearer: getTextAt(purchase, 'account.session_key'),
    status: 'WAITING_FOR_BUYER_PAYMENT',
  })
  order.invoice = getTextAt(purchase, 'payment.lightning_invoice')
  return { order, page: getTextAt(purchase, 'payment.redirect_url') }
}

export async function placeLsps1Order(
  market: LoadMarket,
  { pubkey }: BuyerNode,
  { kind, isPrivate }: Arrival,
): Promise<LoadOrder> {
  const lspType = 'cheapest'
  const info = await market.lsps1('GET', `/${lspType}/get_info`)
  const answer = await market.lsps1('POST', `/${lspType}/create_order`, {
    lsp_balance_sat: getTextAt(info, 'min_initial_lsp_balance_sat'),
    client_balance_sat: '0',
    required_channel_confirmations: getValueAt(info, 'min_required_channel_confirmations'),
    funding_confirms_within_blocks: getValueAt(info, 'min_funding_confirms_within_blocks'),
    channel_expiry_blocks: getValueAt(info, 'max_channel_expiry_blocks'),
    token: '',
    announce_channel: !isPrivate,
    public_key: pubkey,
  })
  const order = createLoadOrder({ id: getTextAt(answer, 'order_id'), kind, bearer: null, lspType, status: joinLspStates(answer) })
  order.invoice = getTextAt(answer, 'payment.bolt11.invoice')
  return order
}

/** Places an order that gets its invoice later, once the seller has accepted. */
export async function placeManualOrder(
  market: LoadMarket,
  { pubkey }: BuyerNode,
  buyer: ManualBuyer,
  { kind, isPrivate }: Arrival,
) {
  const input = { offer_id: buyer.offerId, pubkey, size: buyer.sizeSat, payment_method: 'SATS', options: { private: isPrivate } }
  const created = getValueAt(await market.graphql(CREATE_ORDER_MUTATION, { input }, buyer.bearer), 'market.order.create')
  return createLoadOrder({ id: getTextAt(created, 'id'), kind, bearer: buyer.bearer, status: getTextAt(created, 'status') })
}

export async function requestCancellation(market: LoadMarket, { id, bearer }: LoadOrder): Promise<void> {
  await market.graphql(CANCEL_MUTATION, { input: { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' } }, bearer ?? undefined)
}

/** Requests the order's current status, and updates the order. */
export async function refreshOrder(market: LoadMarket, order: LoadOrder): Promise<void> {
  if (order.lspType !== null) {
    order.status = joinLspStates(await market.lsps1('GET', `/${order.lspType}/get_order?order_id=${order.id}`))
    return
  }
  const answer = getValueAt(
    await market.graphql(GET_ORDER_QUERY, { id: order.id }, order.bearer ?? undefined),
    'user.market.orders.get_order',
  )
  order.status = getTextAt(answer, 'status')
  const [invoice, timeout] = [getValueAt(answer, 'payment.lightning.invoice'), getValueAt(answer, 'timeout')]
  order.timeout = typeof timeout === 'string' ? timeout : null
  if (typeof invoice === 'string') order.invoice = invoice
}

const joinLspStates = (answer: Parameters<typeof getTextAt>[0]): string =>
  `${getTextAt(answer, 'order_state')} ${getTextAt(answer, 'payment.bolt11.state')}`

type NewLoadOrder = Pick<LoadOrder, 'id' | 'kind' | 'bearer' | 'status'> & { readonly lspType?: string }

const createLoadOrder = ({ lspType, ...order }: NewLoadOrder): LoadOrder => ({
  ...order,
  lspType: lspType ?? null,
  invoice: null,
  timeout: null,
  stage: 'ordered',
  paid: null,
  isPaymentUncertain: false,
})
