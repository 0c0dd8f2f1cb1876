import { setTimeout as pause } from 'node:timers/promises'
import { ask, graphql, type SimNode, simNodes } from '../../test/harness/buyer.ts'
import type { Product } from '../../test/harness/product.ts'

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`
const LIST = `query ($page: PageInput) { user { transactions { transaction_list(page: $page) { list { id status } } } } }`
/** With variables, as a client asks: each new text would be a document of its own at the gateway. */
function outpointsOf(ids: readonly string[]): { readonly query: string; readonly variables: Readonly<Record<string, string>> } {
  const names = ids.map((_id, n) => `o${n}`)
  const declared = names.map((name) => `$${name}: String!`).join(', ')
  const asked = names.map((name) => `${name}: get_order(order_id: $${name}) { outpoint }`).join(' ')
  return {
    query: `query (${declared}) { user { market { orders { ${asked} } } } }`,
    variables: Object.fromEntries(ids.map((id, n) => [`o${n}`, id])),
  }
}

type Bought = {
  readonly account: { readonly session_key: string }
  readonly order: { readonly transaction_id: string }
  readonly payment: { readonly lightning_invoice: string }
}
type List = {
  readonly user: { readonly transactions: { readonly transaction_list: { readonly list: readonly Listed[] } } }
}
type Listed = { readonly id: string; readonly status: string }
type Outpoints = {
  readonly user: { readonly market: { readonly orders: Readonly<Record<string, { readonly outpoint: string | null }>> } }
}

/** Orders of one buyer that are under way together. */
const ORDERS_OF_BUYER = 20
const LOOK_EVERY_MS = 1000
const FINISHED = 'CHANNEL_MONITORING_FINISHED'
/** On a machine that is busy otherwise a payment may run out of blocks. More of them would be another benchmark. */
const FAILED = ['SELLER_FAILED_TO_OPEN_CHANNEL', 'SELLER_FAILED_TO_SEND_SWAP']
const MOST_FAILED = 0.01
const LONGEST_LIFE_MS = 300_000

/**
 * Buyers side by side, each of whom buys some channels, pays, waits until their leases have ended, and goes; then the
 * channels are closed. Everything goes through the public interface but what the simulated nodes do: pay and close.
 * @param load how many orders to make, by how many buyers at a time; after `withinMs` nobody begins any more
 * @param finished told of every buyer that is done, with how many orders
 * @throws Error where more than a few orders fail
 */
export async function sellOrders(
  product: Product,
  { count, buyers, withinMs }: { readonly count: number; readonly buyers: number; readonly withinMs: number },
  finished: (orders: number) => Promise<void>,
): Promise<void> {
  const until = performance.now() + withinMs
  const wallets = (await simNodes(product)).filter(({ role }) => role === 'buyer')
  let left = count
  let failed = 0
  const lane = async (wallet: SimNode): Promise<void> => {
    while (left > 0 && performance.now() < until) {
      const orders = Math.min(left, ORDERS_OF_BUYER)
      left -= orders
      failed += orders - (await oneBuyer(product, wallet, orders))
      if (failed > Math.max(ORDERS_OF_BUYER, count * MOST_FAILED)) throw new Error(`${failed} orders failed`)
      await finished(orders)
    }
  }
  await Promise.all(Array.from({ length: buyers }, (_, n) => lane(wallets[n % wallets.length] as SimNode))) // there are some
}

/** @returns how many of them were sold */
async function oneBuyer(product: Product, { uri, alias }: SimNode, orders: number): Promise<number> {
  let key = ''
  for (let n = 0; n < orders; n++) {
    const { account, payment } = await buyOne(product, uri, key)
    key = account.session_key
    await product.operator('POST', '/sim/pay', { invoice: payment.lightning_invoice, from: alias })
  }
  const ids = await allEnded(product, orders, key)
  if (ids.length === 0) return 0
  const { query, variables } = outpointsOf(ids)
  const { user } = await ask<Outpoints>(product, query, variables, key)
  for (const { outpoint } of Object.values(user.market.orders)) await product.operator('POST', '/sim/close', { outpoint })
  return ids.length
}

/** @returns the ids of those that were sold, once none of them is under way any more */
async function allEnded(product: Product, orders: number, key: string): Promise<readonly string[]> {
  const until = Date.now() + LONGEST_LIFE_MS
  for (;;) {
    const { user } = await ask<List>(product, LIST, { page: { limit: 100, offset: 0 } }, key)
    const { list } = user.transactions.transaction_list
    const open = list.filter(({ status }) => status !== FINISHED && !FAILED.includes(status))
    if (list.length === orders && open.length === 0) return list.filter(({ status }) => status === FINISHED).map(({ id }) => id)
    if (Date.now() > until) throw new Error(`orders do not come to their end: ${open.map(({ status }) => status).join(', ')}`)
    await pause(LOOK_EVERY_MS)
  }
}

/** Sellers that did not prove for a while that they are there are not offered until they do. */
const LATER = ['AMOUNT_TOO_LOW', 'AMOUNT_NOT_OFFERED', 'NO_SELLER']

async function buyOne(product: Product, uri: string, key: string): Promise<Bought> {
  const input = { connection_uri: uri, usd_cents: '500' }
  const until = performance.now() + LONGEST_LIFE_MS
  for (;;) {
    const { data, errors } = await graphql<{ liquidity: { buy: Bought } }>(product.url, BUY, { input }, key || undefined)
    if (data && !errors) return data.liquidity.buy
    const isForNow = errors?.some(({ extensions }) => LATER.includes(extensions?.reason ?? ''))
    if (!isForNow || performance.now() > until) throw new Error(`the market refuses: ${JSON.stringify(errors)}`)
    await pause(LOOK_EVERY_MS)
  }
}
