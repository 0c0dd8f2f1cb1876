import type { Clock } from '@penstock/ports/clock.ts'

/** Prints a line of the demonstration. */
export type Say = (line: string) => void

/** Who can buy, on whatever network. */
export type Buyers = {
  nodes(): Listed | Promise<Listed>
  pay(alias: string, invoice: string): unknown
}
type Listed = readonly { readonly role: string; readonly alias: string; readonly uri: string }[]

const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'
const BUY = `mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`
const ORDER = `query Order($id: String!) { user { market { orders { get_order(order_id: $id) {
  status channel_id size source { alias } timeline { at status } } } } } }`

type Bought = {
  readonly account: { readonly session_key: string }
  readonly order: { readonly transaction_id: string }
  readonly payment: {
    readonly lightning_invoice: string
    readonly redirect_url: string
    readonly amount: { readonly sats: string }
  }
}
type Seen = {
  readonly status: string
  readonly channel_id: string | null
  readonly size: string
  readonly source: { readonly alias: string | null } | null
  readonly timeline: readonly { readonly at: string; readonly status: string | null }[]
}

const SELLERS_WITHIN_MS = 30_000
const SOLD_WITHIN_MS = 300_000

const meaning: Readonly<Record<string, string>> = {
  WAITING_FOR_SELLER_APPROVAL: 'a seller with standing acceptance is found',
  WAITING_FOR_BUYER_PAYMENT: 'the hold invoice waits for its payment',
  WAITING_FOR_CHANNEL_OPEN: 'the payment is locked, and a seller has reserved the capacity',
  SELLER_SENT_TRANSACTION: 'the seller has named its funding transaction',
  WAITING_FOR_ON_CHAIN_CONFIRMATION: 'the transaction is seen in the mempool',
  ON_CHAIN_CONFIRMATION: 'it has its first confirmation',
  SELLER_OPENED_CHANNEL: 'it is deep enough; the channel is being proven',
  VALID_CHANNEL_OPENING: 'the channel is proven and the payment is taken',
}

async function graphql<T>(url: string, query: string, variables: object, key?: string): Promise<T> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: T; errors?: { message: string }[] } // the shape of every GraphQL answer
  if (errors) throw new Error(errors[0]?.message ?? 'the request failed')
  return data
}

/** Buys one channel as a stranger would, with a wallet of its network, and tells what happens. */
export async function demonstrate(url: string, buyers: Buyers, clock: Clock, say: Say, signal: AbortSignal): Promise<void> {
  const buyer = (await buyers.nodes()).find(({ role }) => role === 'buyer')
  if (!buyer) return
  say('A demonstration: buying an inbound channel for 5 USD.')
  await sellersHaveCome(url, clock, signal)
  const bought = await buy(url, buyer.uri)
  const { lightning_invoice: invoice, redirect_url: page, amount } = bought.payment
  say(`  invoice   ${amount.sats} sat  ${invoice.slice(0, 28)}…`)
  say(`  checkout  ${page}`)
  await buyers.pay(buyer.alias, invoice)
  const [started, startedMs] = [clock.now(), clock.monotonicMs()]
  let told = 0
  while (!signal.aborted && clock.monotonicMs() - startedMs < SOLD_WITHIN_MS) {
    const seen = await look(url, bought)
    const reached = seen.timeline.filter(({ status }) => status !== null)
    for (const { at, status } of reached.slice(told)) say(line(Date.parse(at) - started, status ?? ''))
    told = reached.length
    if (seen.status === 'VALID_CHANNEL_OPENING') return say(sold(seen, buyer.alias))
    await clock.sleep(100, signal)
  }
  if (!signal.aborted) say('  The demonstration did not end in time; the log says why.')
}

/** Times are from the payment on; what came before it shows as 0. */
const line = (afterMs: number, status: string): string =>
  `  ${(Math.max(0, afterMs) / 1000).toFixed(1).padStart(6)} s  ${status.padEnd(34)} ${meaning[status] ?? ''}`

const sold = (seen: Seen, buyer: string): string =>
  `Sold: ${seen.source?.alias ?? 'the seller'} opened a channel of ${seen.size} sat to ${buyer}${seen.channel_id === null ? '' : ` (${seen.channel_id})`}.`

/** Sellers come a moment after the service. Asked is the price, which costs nothing: each purchase counts on the limit of this address. */
export async function sellersHaveCome(
  url: string,
  clock: Clock,
  signal: AbortSignal,
  withinMs = SELLERS_WITHIN_MS,
): Promise<void> {
  const end = clock.monotonicMs() + withinMs
  for (;;) {
    try {
      return void (await graphql<object>(url, PRICE, {}))
    } catch (error) {
      if (signal.aborted || clock.monotonicMs() > end) throw error
      await clock.sleep(250, signal)
    }
  }
}

async function buy(url: string, uri: string): Promise<Bought> {
  const { liquidity } = await graphql<{ liquidity: { buy: Bought } }>(url, BUY, {
    input: { connection_uri: uri, usd_cents: '500' },
  })
  return liquidity.buy
}

async function look(url: string, { account, order }: Bought): Promise<Seen> {
  const data = await graphql<{ user: { market: { orders: { get_order: Seen } } } }>(
    url,
    ORDER,
    { id: order.transaction_id },
    account.session_key,
  )
  return data.user.market.orders.get_order
}
