import type { SimControl } from '@penstock/adapters/simnet/control.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { isExpectedRefusal, type SimulatedMarket, retryWhileUnavailable, RefusedByMarket } from '../world/gateway-access.ts'
import type { SimulatedPurchase } from '../plan/plan.ts'
import type { CountOccurrence } from '../coverage.ts'
import type { BoughtOrder } from '../injections/injection-context.ts'
import { BUY_MUTATION, type BuyMutationData, CANCEL_MUTATION, CREATE_ORDER_MUTATION } from '../../support/market-operations.ts'

const OFFERS_QUERY = 'query { market { offer { offers(page: { limit: 50 }) { list { id status auto_accept min_size } } } } }'
const ORDER_QUERY =
  'query ($id: String!) { user { market { orders { get_order(order_id: $id) { status payment { lightning { invoice } } } } } } }'

export type BuyerContext = {
  readonly clock: Clock
  readonly market: SimulatedMarket
  readonly control: SimControl
  readonly deadlineMs: number
  readonly boughtOrders: Map<string, BoughtOrder>
  readonly countOccurrence: CountOccurrence
  /** Called with each error of a buyer that is not an expected refusal. */
  readonly onUnexpectedError: (error: unknown) => void
}

type BuyerOrder = { readonly id: string; readonly invoice: string; readonly key: string | null }
type ShownOrder = { readonly status: string; readonly payment: { readonly lightning: { readonly invoice: string | null } } }

/** Runs one purchase. The buyer gives up after a refusal, or without an answer until the deadline. */
export async function runPurchase(
  context: BuyerContext,
  purchase: SimulatedPurchase,
  accountKey: string,
  note: (text: string) => void,
): Promise<void> {
  const { clock } = context
  await clock.sleep(purchase.atMs)
  try {
    const order = await placeOrder(context, purchase, accountKey)
    note(`${purchase.api}: invoice`)
    context.boughtOrders.set(order.id, { key: order.key, buyer: purchase.buyer, invoice: order.invoice })
    await clock.sleep(purchase.afterMs)
    await continuePurchase(context, purchase, order)
    context.countOccurrence(`buyer: ${purchase.afterwards}`)
  } catch (error) {
    // If the order was placed and only its answer was lost, it stays unpaid and expires.
    if (!isExpectedRefusal(error)) context.onUnexpectedError(error)
    note(`${purchase.api}: ${error instanceof RefusedByMarket ? error.message : 'no answer'}`)
  }
}

function placeOrder(context: BuyerContext, purchase: SimulatedPurchase, accountKey: string): Promise<BuyerOrder> {
  switch (purchase.api) {
    case 'buy':
      return orderByGraphql(context, purchase)
    case 'lsps1':
      return orderByLsps1(context, purchase)
    case 'manual':
      return orderManually(context, purchase, accountKey)
  }
}

const findNode = ({ control }: BuyerContext, alias: string) => {
  const node = control.nodes().find((node) => node.alias === alias)
  if (!node) throw new Error(`there is no ${alias}`)
  return node
}

async function orderByGraphql(context: BuyerContext, { buyer, options, usdCents }: SimulatedPurchase): Promise<BuyerOrder> {
  const input = { connection_uri: findNode(context, buyer).uri, usd_cents: `${usdCents}`, options }
  // The mutation is not idempotent. After a lost answer the buyer buys again, and the first order expires unpaid.
  const { account, order, payment } = (
    await retryWhileUnavailable(context.clock, context.deadlineMs, () =>
      context.market.graphql<BuyMutationData>(BUY_MUTATION, { input }),
    )
  ).liquidity.buy
  return { id: order.transaction_id, invoice: payment.lightning_invoice, key: account.session_key }
}

/** Buys by LSPS1. The buyer cannot cancel such an order, because LSPS1 gives it no session key. */
async function orderByLsps1(
  context: BuyerContext,
  { buyer, options, usdCents, confirmations }: SimulatedPurchase,
): Promise<BuyerOrder> {
  const type = options.rails_cluster_only ? 'recommended' : 'cheapest'
  const body = {
    lsp_balance_sat: `${usdCents}000`,
    client_balance_sat: '0',
    required_channel_confirmations: confirmations,
    funding_confirms_within_blocks: 20,
    channel_expiry_blocks: 30,
    announce_channel: !options.private,
    public_key: findNode(context, buyer).pubkey,
  }
  const answer = await retryWhileUnavailable(context.clock, context.deadlineMs, () =>
    context.market.call((gateway) => gateway.lsps1.createOrder(type, body)),
  )
  if ('fault' in answer) throw new RefusedByMarket(JSON.stringify(answer.fault))
  const { order_id: id, payment } = answer as { order_id: string; payment: { bolt11: { invoice: string } } } // By bLIP-51.
  return { id, invoice: payment.bolt11.invoice, key: null }
}

/** Buys from a chosen offer. If its seller has to approve the order, the invoice follows after the approval. */
async function orderManually(
  context: BuyerContext,
  { buyer, options, usdCents }: SimulatedPurchase,
  key: string,
): Promise<BuyerOrder> {
  type Offers = {
    market: { offer: { offers: { list: { id: string; status: string; auto_accept: boolean; min_size: string }[] } } }
  }
  type ManualOrder = { market: { order: { create: { id: string; payment: { lightning: { invoice: string | null } } } } } }
  const { clock, market, deadlineMs } = context
  const request = <T>(query: string, variables: object) =>
    retryWhileUnavailable(clock, deadlineMs, () => market.graphql<T>(query, variables, key))
  const { list } = (await request<Offers>(OFFERS_QUERY, {})).market.offer.offers
  const offer = list.find(({ auto_accept }) => !auto_accept) ?? list[usdCents % Math.max(1, list.length)]
  if (!offer) throw new RefusedByMarket('no offer')
  const input = {
    offer_id: offer.id,
    pubkey: findNode(context, buyer).pubkey,
    size: `${usdCents}000`,
    options: { private: options.private },
  }
  const { id, payment } = (await request<ManualOrder>(CREATE_ORDER_MUTATION, { input })).market.order.create
  if (payment.lightning.invoice) return { id, invoice: payment.lightning.invoice, key }
  for (;;) {
    await clock.sleep(500)
    const { status, payment: newPayment } = await readOrder(context, id, key)
    if (newPayment.lightning.invoice) return { id, invoice: newPayment.lightning.invoice, key }
    if (status !== 'WAITING_FOR_SELLER_APPROVAL' || clock.now() > deadlineMs) throw new RefusedByMarket(`ended as ${status}`)
  }
}

async function readOrder({ clock, market, deadlineMs }: BuyerContext, id: string, key: string): Promise<ShownOrder> {
  type Answer = { user: { market: { orders: { get_order: ShownOrder } } } }
  return (await retryWhileUnavailable(clock, deadlineMs, () => market.graphql<Answer>(ORDER_QUERY, { id }, key))).user.market
    .orders.get_order
}

async function continuePurchase(
  context: BuyerContext,
  { buyer, afterwards }: SimulatedPurchase,
  { id, invoice, key }: BuyerOrder,
): Promise<void> {
  const { clock, control, market, deadlineMs } = context
  const pay = (amountMsat?: bigint) => control.pay(buyer, invoice, amountMsat === undefined ? {} : { amountMsat })
  const cancel = async (): Promise<void> => {
    const input = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    if (key !== null) await retryWhileUnavailable(clock, deadlineMs, () => market.graphql(CANCEL_MUTATION, { input }, key))
  }
  const { amountMsat = 0n, expiresAt = 0 } = decodePaymentRequest(invoice) ?? {}
  switch (afterwards) {
    case 'pay':
      return void pay()
    case 'pay twice':
      pay()
      await clock.sleep(100)
      return void pay()
    case 'pay too much':
      return void pay(amountMsat + amountMsat / 3n)
    case 'pay at the last moment':
      await clock.sleep(Math.max(0, expiresAt - clock.now() - 20))
      return void pay()
    case 'cancel':
      return cancel()
    case 'pay and cancel':
      pay()
      return cancel()
    case 'leave':
      return
  }
}
