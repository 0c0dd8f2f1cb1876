import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { Product } from './product.ts'
import { PRICED_BUY_MUTATION, type PricedBuyMutationData } from './market-operations.ts'

/** The parts of a market that buyers and operators use. */
export type MarketAccess = Pick<Product, 'url' | 'operator'>

export type GraphqlError = {
  readonly message: string
  readonly extensions?: {
    readonly code?: string
    readonly reason?: string
    readonly transaction_id?: string
    readonly session_key?: string
  }
}
export type GraphqlResponse<T> = { readonly status: number; readonly data?: T; readonly errors?: readonly GraphqlError[] }

export async function sendGraphql<T>(
  url: string,
  query: string,
  variables?: object,
  token?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<GraphqlResponse<T>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, ...((await response.json()) as { data?: T; errors?: GraphqlError[] }) } // By the GraphQL specification.
}

/** Sends a GraphQL request. @returns the data @throws Error with the market's errors */
export async function requestData<T>(
  { url }: Pick<MarketAccess, 'url'>,
  query: string,
  variables: object,
  token?: string,
): Promise<T> {
  const { data, errors } = await sendGraphql<T>(url, query, variables, token)
  if (!data || errors) throw new Error(`the market refused the request: ${JSON.stringify(errors)}`)
  return data
}

const ORDER_QUERY =
  'query ($id: String!) { user { market { orders { get_order(order_id: $id) { id status payment_status channel_id confirmations { confirmations } } } } } }'

export type PurchasedOrder = {
  readonly id: string
  readonly key: string
  readonly invoice: string
  readonly sats: string
  readonly page: string
}
export type OrderSnapshot = {
  readonly id: string
  readonly status: string
  readonly payment_status: string | null
  readonly channel_id: string | null
}

export type SimulatedNode = {
  readonly alias: string
  readonly role: string
  readonly pubkey: string
  readonly uri: string
  readonly balance_sat: string
}
export type SimulatedPayment = { readonly state: 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'; readonly payment_hash: string }

export const listSimNodes = (product: MarketAccess): Promise<readonly SimulatedNode[]> => product.operator('GET', '/sim/nodes')
export const paySimulatedInvoice = (product: MarketAccess, invoice: string): Promise<SimulatedPayment> =>
  product.operator('POST', '/sim/pay', { invoice })
export const getPayment = (product: MarketAccess, hash: string): Promise<SimulatedPayment> =>
  product.operator('GET', `/sim/payments/${hash}`)
export const setBehaviour = (product: MarketAccess, alias: string, how: string): Promise<unknown> =>
  product.operator('POST', '/sim/behave', { alias, how })

export async function findBuyer(product: MarketAccess): Promise<SimulatedNode> {
  const buyer = (await listSimNodes(product)).find(({ role }) => role === 'buyer')
  if (!buyer) throw new Error('the simulated network has no buyer')
  return buyer
}

/** Buys a channel without an account. It retries until the market accepts the purchase, because sellers may not have joined. */
export async function buyChannel(product: MarketAccess, input: object = {}): Promise<PurchasedOrder> {
  // With real nodes the caller passes the buyer's address in `input`.
  const connection = 'connection_uri' in input ? {} : { connection_uri: (await findBuyer(product)).uri }
  let refusal = ''
  const answer = await waitUntil(
    'an accepted purchase',
    async () => {
      const { data, errors } = await sendGraphql<PricedBuyMutationData>(product.url, PRICED_BUY_MUTATION, {
        input: { ...connection, usd_cents: '500', ...input },
      })
      refusal = errors?.[0]?.message ?? ''
      return errors ? null : data?.liquidity.buy
    },
    120_000,
    100,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; last refusal: ${refusal}`)
  })
  const { lightning_invoice: invoice, redirect_url: page, amount } = answer.payment
  return { id: answer.order.transaction_id, key: answer.account.session_key, invoice, sats: amount.sats, page }
}

export async function readOrder(product: MarketAccess, { id, key }: Pick<PurchasedOrder, 'id' | 'key'>): Promise<OrderSnapshot> {
  const { data, errors } = await sendGraphql<{ user: { market: { orders: { get_order: OrderSnapshot } } } }>(
    product.url,
    ORDER_QUERY,
    { id },
    key,
  )
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data.user.market.orders.get_order
}

/** Waits until the order has one of these statuses. @throws Error at the timeout */
export const waitForStatus = (
  product: MarketAccess,
  bought: Pick<PurchasedOrder, 'id' | 'key'>,
  statuses: readonly string[],
  timeoutMs = 60_000,
): Promise<OrderSnapshot> =>
  waitUntil(
    `order ${bought.id} reaches ${statuses.join(' or ')}`,
    async () => {
      const snapshot = await readOrder(product, bought)
      return statuses.includes(snapshot.status) ? snapshot : null
    },
    timeoutMs,
    50,
  )
