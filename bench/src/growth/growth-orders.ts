import { setTimeout as pause } from 'node:timers/promises'
import { requestData, sendGraphql, type SimulatedNode, listSimNodes } from '../../../test/support/market-client.ts'
import type { Product } from '../../../test/support/product.ts'
import { BUY_MUTATION } from '../../../test/support/market-operations.ts'

const LIST_QUERY = `query ($page: PageInput) { user { transactions { transaction_list(page: $page) { list { id status } } } } }`
/** Uses variables, as clients do. With the ids in the text, the gateway would parse a new document for every call. */
function buildOutpointsQuery(ids: readonly string[]): {
  readonly query: string
  readonly variables: Readonly<Record<string, string>>
} {
  const names = ids.map((_id, n) => `o${n}`)
  const declared = names.map((name) => `$${name}: String!`).join(', ')
  const fields = names.map((name) => `${name}: get_order(order_id: $${name}) { outpoint }`).join(' ')
  return {
    query: `query (${declared}) { user { market { orders { ${fields} } } } }`,
    variables: Object.fromEntries(ids.map((id, n) => [`o${n}`, id])),
  }
}

type Bought = {
  readonly account: { readonly session_key: string }
  readonly order: { readonly transaction_id: string }
  readonly payment: { readonly lightning_invoice: string }
}
type TransactionList = {
  readonly user: { readonly transactions: { readonly transaction_list: { readonly list: readonly ListedTransaction[] } } }
}
type ListedTransaction = { readonly id: string; readonly status: string }
type OrderOutpoints = {
  readonly user: { readonly market: { readonly orders: Readonly<Record<string, { readonly outpoint: string | null }>> } }
}

/** Concurrent orders of one buyer. */
const ORDERS_PER_BUYER = 20
const POLL_INTERVAL_MS = 1000
const FINISHED = 'CHANNEL_MONITORING_FINISHED'
/** On a busy machine, a hold may reach its last height before its channel opens. More failures would distort the figures. */
const FAILED = ['SELLER_FAILED_TO_OPEN_CHANNEL', 'SELLER_FAILED_TO_SEND_SWAP']
const MAX_FAILED_SHARE = 0.01
const ORDER_TIMEOUT_MS = 300_000

/**
 * Runs concurrent buyers. Each buyer buys some channels, pays, waits until the channel leases have ended, and closes the
 * channels. The simulated network's operator API pays and closes; everything else uses the public API.
 * @param load the number of orders and of concurrent buyers; after `timeLimitMs` no new buyer starts
 * @param onFinished called when a buyer has finished, with the number of its orders
 * @throws Error if more than a few orders fail
 */
export async function sellOrders(
  product: Product,
  { count, buyers, timeLimitMs }: { readonly count: number; readonly buyers: number; readonly timeLimitMs: number },
  onFinished: (orders: number) => Promise<void>,
): Promise<void> {
  const endsAt = performance.now() + timeLimitMs
  const wallets = (await listSimNodes(product)).filter(({ role }) => role === 'buyer')
  let remaining = count
  let failed = 0
  const buyRepeatedly = async (wallet: SimulatedNode): Promise<void> => {
    while (remaining > 0 && performance.now() < endsAt) {
      const orders = Math.min(remaining, ORDERS_PER_BUYER)
      remaining -= orders
      failed += orders - (await runBuyer(product, wallet, orders))
      if (failed > Math.max(ORDERS_PER_BUYER, count * MAX_FAILED_SHARE)) throw new Error(`${failed} orders failed`)
      await onFinished(orders)
    }
  }
  await Promise.all(Array.from({ length: buyers }, (_, n) => buyRepeatedly(wallets[n % wallets.length] as SimulatedNode))) // the network has buyers
}

/** @returns the number of orders that were sold */
async function runBuyer(product: Product, { uri, alias }: SimulatedNode, orders: number): Promise<number> {
  let key = ''
  for (let n = 0; n < orders; n++) {
    const { account, payment } = await buyWithRetries(product, uri, key)
    key = account.session_key
    await product.operator('POST', '/sim/pay', { invoice: payment.lightning_invoice, from: alias })
  }
  const ids = await waitForEnds(product, orders, key)
  if (ids.length === 0) return 0
  const { query, variables } = buildOutpointsQuery(ids)
  const { user } = await requestData<OrderOutpoints>(product, query, variables, key)
  for (const { outpoint } of Object.values(user.market.orders)) await product.operator('POST', '/sim/close', { outpoint })
  return ids.length
}

/** Waits until every order has ended. @returns the ids of the sold orders */
async function waitForEnds(product: Product, orders: number, key: string): Promise<readonly string[]> {
  const endsAt = Date.now() + ORDER_TIMEOUT_MS
  for (;;) {
    const { user } = await requestData<TransactionList>(product, LIST_QUERY, { page: { limit: 100, offset: 0 } }, key)
    const { list } = user.transactions.transaction_list
    const open = list.filter(({ status }) => status !== FINISHED && !FAILED.includes(status))
    if (list.length === orders && open.length === 0) return list.filter(({ status }) => status === FINISHED).map(({ id }) => id)
    if (Date.now() > endsAt) throw new Error(`orders did not end in time: ${open.map(({ status }) => status).join(', ')}`)
    await pause(POLL_INTERVAL_MS)
  }
}

/** Reasons for a retry: the market offers no channels of a seller until the seller's agent attests its funds again. */
const RETRYABLE_REASONS = ['AMOUNT_TOO_LOW', 'AMOUNT_NOT_OFFERED', 'NO_SELLER']

async function buyWithRetries(product: Product, uri: string, key: string): Promise<Bought> {
  const input = { connection_uri: uri, usd_cents: '500' }
  const endsAt = performance.now() + ORDER_TIMEOUT_MS
  for (;;) {
    const { data, errors } = await sendGraphql<{ liquidity: { buy: Bought } }>(
      product.url,
      BUY_MUTATION,
      { input },
      key || undefined,
    )
    if (data && !errors) return data.liquidity.buy
    const isRetryable = errors?.some(({ extensions }) => RETRYABLE_REASONS.includes(extensions?.reason ?? ''))
    if (!isRetryable || performance.now() > endsAt) throw new Error(`the market refused the purchase: ${JSON.stringify(errors)}`)
    await pause(POLL_INTERVAL_MS)
  }
}
