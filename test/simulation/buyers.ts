import type { SimControl } from '@penstock/adapters/simnet/control.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { isNo, type Market, patiently, Refused } from './market.ts'
import type { Purchase } from './plan.ts'
import type { Reached } from './reached.ts'
import type { Bought } from './stage.ts'

export const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`
/** What it answers. */
export type Purchased = {
  readonly liquidity: {
    readonly buy: {
      readonly account: { readonly session_key: string }
      readonly order: { readonly transaction_id: string }
      readonly payment: { readonly lightning_invoice: string }
    }
  }
}
const MANUAL = `mutation ($input: CreateManualOrderInput!) { market { order { create(input: $input) { id payment { lightning { invoice } } } } } }`
const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'
const OFFERS = 'query { market { offer { offers(page: { limit: 50 }) { list { id status auto_accept min_size } } } } }'
const ORDER =
  'query ($id: String!) { user { market { orders { get_order(order_id: $id) { status payment { lightning { invoice } } } } } } }'

export type World = {
  readonly clock: Clock
  readonly market: Market
  readonly control: SimControl
  readonly untilMs: number
  readonly bought: Map<string, Bought>
  readonly reached: Reached
  /** Hears of what stopped a buyer and is no answer of a market. */
  readonly blundered: (error: unknown) => void
}

type Order = { readonly id: string; readonly invoice: string; readonly key: string | null }
type Shown = { readonly status: string; readonly payment: { readonly lightning: { readonly invoice: string | null } } }

/** A buyer does what the plan says, gives up what nobody answers, and is never heard of again. */
export async function buy(world: World, purchase: Purchase, accountKey: string, note: (text: string) => void): Promise<void> {
  const { clock } = world
  await clock.sleep(purchase.atMs)
  try {
    const order = await ordered(world, purchase, accountKey)
    note(`${purchase.by}: invoice`)
    world.bought.set(order.id, { key: order.key, buyer: purchase.buyer, invoice: order.invoice })
    await clock.sleep(purchase.afterMs)
    await goOn(world, purchase, order)
    world.reached(`buyer: ${purchase.then}`)
  } catch (error) {
    // Nobody sold, or nobody answered: an order that was begun nevertheless is unpaid, and expires.
    if (!isNo(error)) world.blundered(error)
    note(`${purchase.by}: ${error instanceof Refused ? error.message : 'no answer'}`)
  }
}

function ordered(world: World, purchase: Purchase, accountKey: string): Promise<Order> {
  switch (purchase.by) {
    case 'buy':
      return byBuy(world, purchase)
    case 'lsps1':
      return byLsps1(world, purchase)
    case 'manual':
      return byHand(world, purchase, accountKey)
  }
}

const nodeOf = ({ control }: World, alias: string) => {
  const found = control.nodes().find((node) => node.alias === alias)
  if (!found) throw new Error(`there is no ${alias}`)
  return found
}

async function byBuy(world: World, { buyer, options, usdCents }: Purchase): Promise<Order> {
  const input = { connection_uri: nodeOf(world, buyer).uri, usd_cents: `${usdCents}`, options }
  // Not idempotent: a buyer whose call was lost buys again, and forgets the first order.
  const { account, order, payment } = (
    await patiently(world.clock, world.untilMs, () => world.market.graphql<Purchased>(BUY, { input }))
  ).liquidity.buy
  return { id: order.transaction_id, invoice: payment.lightning_invoice, key: account.session_key }
}

/** Nobody can cancel such an order: a wallet has no key to it. */
async function byLsps1(world: World, { buyer, options, usdCents, confirmations }: Purchase): Promise<Order> {
  const type = options.rails_cluster_only ? 'recommended' : 'cheapest'
  const body = {
    lsp_balance_sat: `${usdCents}000`,
    client_balance_sat: '0',
    required_channel_confirmations: confirmations,
    funding_confirms_within_blocks: 20,
    channel_expiry_blocks: 30,
    announce_channel: !options.private,
    public_key: nodeOf(world, buyer).pubkey,
  }
  const answer = await patiently(world.clock, world.untilMs, () =>
    world.market.call((door) => door.lsps1.createOrder(type, body)),
  )
  if ('fault' in answer) throw new Refused(JSON.stringify(answer.fault))
  const { order_id: id, payment } = answer as { order_id: string; payment: { bolt11: { invoice: string } } } // bLIP-51's shape
  return { id, invoice: payment.bolt11.invoice, key: null }
}

/** On an offer of the buyer's choice: its seller may have to be asked, and the invoice comes when it has accepted. */
async function byHand(world: World, { buyer, options, usdCents }: Purchase, key: string): Promise<Order> {
  type Offers = {
    market: { offer: { offers: { list: { id: string; status: string; auto_accept: boolean; min_size: string }[] } } }
  }
  type Made = { market: { order: { create: { id: string; payment: { lightning: { invoice: string | null } } } } } }
  const { clock, market, untilMs } = world
  const ask = <T>(query: string, variables: object) => patiently(clock, untilMs, () => market.graphql<T>(query, variables, key))
  const { list } = (await ask<Offers>(OFFERS, {})).market.offer.offers
  const offer = list.find(({ auto_accept }) => !auto_accept) ?? list[usdCents % Math.max(1, list.length)]
  if (!offer) throw new Refused('no offer')
  const input = {
    offer_id: offer.id,
    pubkey: nodeOf(world, buyer).pubkey,
    size: `${usdCents}000`,
    options: { private: options.private },
  }
  const { id, payment } = (await ask<Made>(MANUAL, { input })).market.order.create
  if (payment.lightning.invoice) return { id, invoice: payment.lightning.invoice, key }
  for (;;) {
    await clock.sleep(500)
    const { status, payment: now } = await shown(world, id, key)
    if (now.lightning.invoice) return { id, invoice: now.lightning.invoice, key }
    if (status !== 'WAITING_FOR_SELLER_APPROVAL' || clock.now() > untilMs) throw new Refused(`ended as ${status}`)
  }
}

async function shown({ clock, market, untilMs }: World, id: string, key: string): Promise<Shown> {
  type Answer = { user: { market: { orders: { get_order: Shown } } } }
  return (await patiently(clock, untilMs, () => market.graphql<Answer>(ORDER, { id }, key))).user.market.orders.get_order
}

async function goOn(world: World, { buyer, then }: Purchase, { id, invoice, key }: Order): Promise<void> {
  const { clock, control, market, untilMs } = world
  const pay = (amountMsat?: bigint) => control.pay(buyer, invoice, amountMsat === undefined ? {} : { amountMsat })
  const cancel = async (): Promise<void> => {
    const input = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    if (key !== null) await patiently(clock, untilMs, () => market.graphql(CANCEL, { input }, key))
  }
  const { amountMsat = 0n, expiresAt = 0 } = decodePaymentRequest(invoice) ?? {}
  switch (then) {
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
