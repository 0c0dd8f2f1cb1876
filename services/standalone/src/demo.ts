import type { SaleStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/** Prints a line of the demonstration. */
export type PrintText = (line: string) => void

/** The nodes that can buy, on the simulated or on a real network. */
export type DemoBuyers = {
  nodes(): DemoNodes | Promise<DemoNodes>
  pay(alias: string, invoice: string): unknown
}
type DemoNodes = readonly { readonly role: string; readonly alias: string; readonly uri: string }[]

const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'
const BUY = `mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`
const ORDER = `query Order($id: String!) { user { market { orders { get_order(order_id: $id) {
  status channel_id size source { alias } timeline { at status } } } } } }`

type Purchase = {
  readonly account: { readonly session_key: string }
  readonly order: { readonly transaction_id: string }
  readonly payment: {
    readonly lightning_invoice: string
    readonly redirect_url: string
    readonly amount: { readonly sats: string }
  }
}
type OrderView = {
  readonly status: string
  readonly channel_id: string | null
  readonly size: string
  readonly source: { readonly alias: string | null } | null
  readonly timeline: readonly { readonly at: string; readonly status: string | null }[]
}

const SELLERS_TIMEOUT_MS = 30_000
const PURCHASE_TIMEOUT_MS = 120_000
/** Keeps the purchases below the limit of ten per minute and address. */
const PURCHASE_RETRY_MS = 7000
const POLL_MS = 100
const SALE_TIMEOUT_MS = 300_000

const STATUS_TEXTS: Readonly<Record<SaleStatus, string>> = {
  WAITING_FOR_SELLER_APPROVAL: 'a seller with standing acceptance is found',
  WAITING_FOR_BUYER_PAYMENT: 'the hold invoice waits for its payment',
  WAITING_FOR_CHANNEL_OPEN: 'the payment is locked, and a seller has reserved the capacity',
  SELLER_SENT_TRANSACTION: 'the seller has named its funding transaction',
  WAITING_FOR_ON_CHAIN_CONFIRMATION: 'the transaction is seen in the mempool',
  ON_CHAIN_CONFIRMATION: 'it has its first confirmation',
  SELLER_OPENED_CHANNEL: 'it is deep enough; the channel is being proven',
  VALID_CHANNEL_OPENING: 'the channel is proven and the payment is taken',
  CHANNEL_MONITORING_FINISHED: 'the lease is over',
}

/** Calls the public API. @throws Error with its first refusal */
export async function callGraphql<T>(url: string, query: string, variables: object, key?: string): Promise<T> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: T; errors?: { message: string }[] } // the shape of every GraphQL answer
  if (errors) throw new Error(errors[0]?.message ?? 'the request failed')
  return data
}

/** Buys one channel through the public API, pays from a buyer's node of the network, and prints each status. */
export async function demonstrate(
  url: string,
  buyers: DemoBuyers,
  clock: Clock,
  say: PrintText,
  signal: AbortSignal,
): Promise<void> {
  const buyer = (await buyers.nodes()).find(({ role }) => role === 'buyer')
  if (!buyer) return
  say('A demonstration: buying an inbound channel for 5 USD.')
  await waitForSellers(url, clock, signal)
  // The market may have a price from before a restart, while the sellers' agents are not running yet.
  const purchase = await retryUntilAnswered(() => buyChannel(url, buyer.uri), {
    clock,
    signal,
    withinMs: PURCHASE_TIMEOUT_MS,
    pauseMs: PURCHASE_RETRY_MS,
  })
  const { lightning_invoice: invoice, redirect_url: page, amount } = purchase.payment
  say(`  invoice   ${amount.sats} sat  ${invoice.slice(0, 28)}…`)
  say(`  checkout  ${page}`)
  await buyers.pay(buyer.alias, invoice)
  const [started, startedMs] = [clock.now(), clock.monotonicMs()]
  let printedCount = 0
  while (!signal.aborted && clock.monotonicMs() - startedMs < SALE_TIMEOUT_MS) {
    const withinMs = SALE_TIMEOUT_MS - (clock.monotonicMs() - startedMs)
    const order = await retryUntilAnswered(() => readOrder(url, purchase), { clock, signal, withinMs, pauseMs: POLL_MS })
    const reached = order.timeline.filter(({ status }) => status !== null)
    for (const { at, status } of reached.slice(printedCount)) say(statusLine(Date.parse(at) - started, status ?? ''))
    printedCount = reached.length
    if (order.status === 'VALID_CHANNEL_OPENING') return say(saleLine(order, buyer.alias))
    await clock.sleep(POLL_MS, signal)
  }
  if (!signal.aborted) say('  The demonstration did not end in time; the log says why.')
}

/** Times count from the payment; an earlier status has the time 0. */
const statusLine = (afterMs: number, status: string): string =>
  `  ${(Math.max(0, afterMs) / 1000).toFixed(1).padStart(6)} s  ${status.padEnd(34)} ${status in STATUS_TEXTS ? STATUS_TEXTS[status as SaleStatus] : ''}`

const saleLine = (order: OrderView, buyer: string): string =>
  `Sold: ${order.source?.alias ?? 'the seller'} opened a channel of ${order.size} sat to ${buyer}${order.channel_id === null ? '' : ` (${order.channel_id})`}.`

/** Polls the price until sellers have offers. Purchases instead would count towards the rate limit of this address. */
export const waitForSellers = async (
  url: string,
  clock: Clock,
  signal: AbortSignal,
  withinMs = SELLERS_TIMEOUT_MS,
): Promise<void> =>
  void (await retryUntilAnswered(() => callGraphql<object>(url, PRICE, {}), { clock, signal, withinMs, pauseMs: 250 }))

type RetryOptions = { readonly clock: Clock; readonly signal: AbortSignal; readonly withinMs: number; readonly pauseMs: number }

/** Repeats a call until it succeeds. @throws the last error after `withinMs` */
async function retryUntilAnswered<T>(call: () => Promise<T>, { clock, signal, withinMs, pauseMs }: RetryOptions): Promise<T> {
  const end = clock.monotonicMs() + withinMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || clock.monotonicMs() > end) throw error
      await clock.sleep(pauseMs, signal)
    }
  }
}

async function buyChannel(url: string, uri: string): Promise<Purchase> {
  const { liquidity } = await callGraphql<{ liquidity: { buy: Purchase } }>(url, BUY, {
    input: { connection_uri: uri, usd_cents: '500' },
  })
  return liquidity.buy
}

async function readOrder(url: string, { account, order }: Purchase): Promise<OrderView> {
  const data = await callGraphql<{ user: { market: { orders: { get_order: OrderView } } } }>(
    url,
    ORDER,
    { id: order.transaction_id },
    account.session_key,
  )
  return data.user.market.orders.get_order
}
