import { until } from '@penstock/testkit/until.ts'
import type { Product } from './product.ts'

/** All that buyers and operators need to know of a market. */
export type Door = Pick<Product, 'url' | 'operator'>

export type GraphqlError = {
  readonly message: string
  readonly extensions?: {
    readonly code?: string
    readonly reason?: string
    readonly transaction_id?: string
    readonly session_key?: string
  }
}
export type GraphqlAnswer<T> = { readonly status: number; readonly data?: T; readonly errors?: readonly GraphqlError[] }

export async function graphql<T>(url: string, query: string, variables?: object, token?: string): Promise<GraphqlAnswer<T>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, ...((await response.json()) as { data?: T; errors?: GraphqlError[] }) } // the shape of every GraphQL answer
}

/** @throws Error with the market's refusal */
export async function ask<T>({ url }: Pick<Door, 'url'>, query: string, variables: object, token?: string): Promise<T> {
  const { data, errors } = await graphql<T>(url, query, variables, token)
  if (!data || errors) throw new Error(`the market refuses: ${JSON.stringify(errors)}`)
  return data
}

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id usd_cents } payment { lightning_invoice redirect_url amount { sats } } } } }`
const ORDER =
  'query ($id: String!) { user { market { orders { get_order(order_id: $id) { id status payment_status channel_id confirmations { confirmations } } } } } }'

export type Bought = {
  readonly id: string
  readonly key: string
  readonly invoice: string
  readonly sats: string
  readonly page: string
}
type BuyAnswer = {
  liquidity: {
    buy: {
      account: { session_key: string }
      order: { transaction_id: string }
      payment: { lightning_invoice: string; redirect_url: string; amount: { sats: string } }
    }
  }
}
export type Seen = {
  readonly id: string
  readonly status: string
  readonly payment_status: string | null
  readonly channel_id: string | null
}

export type SimNode = {
  readonly alias: string
  readonly role: string
  readonly pubkey: string
  readonly uri: string
  readonly balance_sat: string
}
export type SimPayment = { readonly state: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'; readonly payment_hash: string }

export const simNodes = (product: Door): Promise<readonly SimNode[]> => product.operator('GET', '/sim/nodes')
export const pay = (product: Door, invoice: string): Promise<SimPayment> => product.operator('POST', '/sim/pay', { invoice })
export const payment = (product: Door, hash: string): Promise<SimPayment> => product.operator('GET', `/sim/payments/${hash}`)
export const behave = (product: Door, alias: string, how: string): Promise<unknown> =>
  product.operator('POST', '/sim/behave', { alias, how })

export async function buyerOf(product: Door): Promise<SimNode> {
  const buyer = (await simNodes(product)).find(({ role }) => role === 'buyer')
  if (!buyer) throw new Error('the simulated network has no buyer')
  return buyer
}

/** Buys as a stranger does; waits until sellers have come. */
export async function buy(product: Door, input: object = {}): Promise<Bought> {
  // On a real network nobody knows who the buyer is; it comes with the input.
  const own = 'connection_uri' in input ? {} : { connection_uri: (await buyerOf(product)).uri }
  let refusal = ''
  const answer = await until(
    'a purchase is answered',
    async () => {
      const { data, errors } = await graphql<BuyAnswer>(product.url, BUY, {
        input: { ...own, usd_cents: '500', ...input },
      })
      refusal = errors?.[0]?.message ?? ''
      return errors ? null : data?.liquidity.buy
    },
    30_000,
    100,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; last refusal: ${refusal}`)
  })
  const { lightning_invoice: invoice, redirect_url: page, amount } = answer.payment
  return { id: answer.order.transaction_id, key: answer.account.session_key, invoice, sats: amount.sats, page }
}

export async function order(product: Door, { id, key }: Pick<Bought, 'id' | 'key'>): Promise<Seen> {
  const { data, errors } = await graphql<{ user: { market: { orders: { get_order: Seen } } } }>(product.url, ORDER, { id }, key)
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data.user.market.orders.get_order
}

/** Waits until the order has one of these statuses. */
export const follow = (
  product: Door,
  bought: Pick<Bought, 'id' | 'key'>,
  wanted: readonly string[],
  timeoutMs = 60_000,
): Promise<Seen> =>
  until(
    `order ${bought.id} reaches ${wanted.join(' or ')}`,
    async () => {
      const seen = await order(product, bought)
      return wanted.includes(seen.status) ? seen : null
    },
    timeoutMs,
    50,
  )
