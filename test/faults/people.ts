import { setTimeout as sleep } from 'node:timers/promises'
import { graphql, type SimNode } from '../harness/buyer.ts'
import type { Product } from '../harness/product.ts'
import type { Mortal } from './mortal.ts'
import type { Plan, Purchase, Weather } from './plan.ts'

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`
const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'

type Buy = {
  readonly liquidity: {
    readonly buy: {
      readonly account: { readonly session_key: string }
      readonly order: { readonly transaction_id: string }
      readonly payment: { readonly lightning_invoice: string }
    } | null
  }
}

/** How long after the beginning of a round a buyer goes on asking. */
const PATIENCE_MS = 16_000

/** Lets the plan happen. @returns how many purchases got an invoice */
export async function act(market: Mortal, plan: Plan, nodes: readonly SimNode[]): Promise<number> {
  const begun = performance.now()
  const until = begun + PATIENCE_MS
  const bought = await Promise.all([
    ...plan.purchases.map((purchase) => buy(market, purchase, nodes, until)),
    ...plan.weather.map((change) => happen(market, change, until)),
  ])
  return bought.filter(Boolean).length
}

async function happen(market: Mortal, change: Weather, until: number): Promise<false> {
  await sleep(change.atMs)
  // A re-org whose answer was lost may happen twice, as in the world.
  if (change.what === 'reorg') await market.call((product) => product.operator('POST', '/sim/reorg', { depth: change.depth }), until)
  else await market.call((product) => product.operator('POST', '/sim/behave', { alias: change.alias, how: change.how }), until)
  return false
}

async function buy(market: Mortal, { atMs, buyer, options, usdCents, then, afterMs }: Purchase, nodes: readonly SimNode[], until: number): Promise<boolean> {
  await sleep(atMs)
  const uri = nodes.find(({ alias }) => alias === buyer)?.uri
  const input = { connection_uri: uri, usd_cents: usdCents, options }
  let order
  try {
    order = await market.call((product) => bought(product, input), until)
  } catch {
    return false // Nobody sold, or nobody answered: an order that was begun nevertheless is unpaid, and expires.
  }
  await sleep(afterMs)
  const { session_key: key } = order.account
  const invoice = order.payment.lightning_invoice
  const pay = () => market.call((product) => product.operator('POST', '/sim/pay', { invoice, from: buyer }), until + PATIENCE_MS)
  if (then === 'pay') await pay()
  if (then === 'pay twice') await Promise.all([pay(), pay()])
  if (then === 'cancel') {
    const data = { order_id: order.order.transaction_id, cancellation_reason: 'UNABLE_TO_PAY' }
    await market.call((product) => graphql(product.url, CANCEL, { input: data }, key), until + PATIENCE_MS)
  }
  return true
}

async function bought(product: Product, input: object): Promise<NonNullable<Buy['liquidity']['buy']>> {
  const { data, errors } = await graphql<Buy>(product.url, BUY, { input })
  if (!data?.liquidity.buy) throw new Error(errors?.[0]?.message ?? 'no order')
  return data.liquidity.buy
}
