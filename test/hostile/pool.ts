import { buy, buyerOf, simNodes } from '../harness/buyer.ts'
import { apiKeyOf, type Callers, one, PASSWORD } from './callers.ts'
import { lspOrderFor } from './cuts.ts'
import type { Pool } from './inputs.ts'
import type { Market } from './market.ts'

export type Known = {
  readonly pool: Pool
  /** Keys of the demonstration's sellers, whose agents go on working. */
  readonly agents: readonly string[]
}

const OWN_ORDERS = 12
/** Of buyers who are nobody that shoots. */
const OTHERS_ORDERS = 3

/** Right wherever a market runs. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  sats: ['1000', '9999999999999999', '2100000000000000'],
  usd_cents: ['500', '700', '1000'],
  redirect_url: ['https://shop.example/done?a=1'],
  email: ['buyer@example.org', 'seller@example.org', ...Array.from({ length: 20 }, (_, at) => `new${at}@example.org`)],
  password: [PASSWORD, 'another password of mine'],
  // Another one would keep the callers out that log in again.
  new_password: [PASSWORD],
  size: ['1000000', '200000'],
  total_size: ['900000000'],
  min_size: ['100000'],
  max_size: ['16000000'],
  base_fee: ['0', '500'],
  base_fee_cap: ['1000'],
  fee_rate: ['1500'],
  fee_rate_cap: ['500'],
  min_block_length: ['4320'],
  onchain_multiplier: ['0', '1', '2.5'],
  value: ['1'],
  payment_method: ['SATS'],
  transaction: [`${'ab'.repeat(32)}:0`, `${'cd'.repeat(32)}:4294967295`],
  capacity: ['1000000'],
  reserve_sats: ['10000'],
  push_sats: ['0'],
  channel_type: ['anchors'],
  signature: ['d'.repeat(104)],
  confirmed_sats: ['5000000'],
  expires_at: ['2099-01-01T00:00:00.000Z'],
  limit: ['1', '10', '100'],
  offset: ['0', '3'],
  lsp_balance_sat: ['1000000', '200000'],
  client_balance_sat: ['0'],
  required_channel_confirmations: ['1', '3'],
  funding_confirms_within_blocks: ['6'],
  channel_expiry_blocks: ['4320', '13140'],
  type: ['recommended', 'cheapest'],
  blocks: ['1'],
  depth: ['1'],
  how: ['ok', 'slow'],
  outpoint: [`${'ab'.repeat(32)}:0`],
  reason: ['known for long'],
}

/** Values that are right in this very market, by the names of the fields that take them. */
export async function poolOf({ product }: Market, callers: Callers): Promise<Known> {
  const nodes = await simNodes(product)
  const buyer = await buyerOf(product)
  const pubkeys = nodes.map(({ pubkey }) => pubkey)
  const agents = nodes.filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  const [seller, dashboard] = [callers.authorization('seller')?.slice(7), callers.authorization('dashboard')?.slice(7)]
  const offer = await offerOf(product.url, buyer.pubkey, seller)
  const orders = await ordersOn(product.url, OWN_ORDERS, { offer, pubkey: agents[0] ?? '' }, dashboard)
  const others = await othersIn(product, buyer.pubkey, callers)
  const apiKeys = await Promise.all([dashboard, seller].map((token) => apiKeyOf(product.url, token)))
  const payout = await product.operator<{ invoice: string; payment_hash: string }>('POST', '/sim/invoice', {
    alias: buyer.alias,
    sats: '2000',
    expirySeconds: 604_800,
  })
  const { session, order } = callers.bought
  const orderIds = [session.id, order.id, ...orders, ...others.orders]
  const page = (url: string) => url.slice(url.lastIndexOf('/') + 1)
  const found: Readonly<Record<string, readonly string[]>> = {
    order_id: orderIds,
    // Of orders in addresses, and of API keys where one is revoked.
    id: [session.id, order.id, ...others.orders.slice(0, 2), ...apiKeys.map(({ id }) => id), ...others.apiKeys],
    offer_id: [offer, offer, ...others.offers],
    pubkey: [buyer.pubkey, buyer.pubkey, buyer.pubkey, ...pubkeys],
    peer_pubkey: pubkeys,
    public_key: pubkeys,
    node_keys: pubkeys,
    funding_keys: pubkeys,
    connection_uri: nodes.map(({ uri }) => uri),
    request: [payout.invoice, session.invoice],
    challenge: [`penstock log-in 1 ${buyer.pubkey} 4000000000000 ${'0'.repeat(32)} ${'A'.repeat(43)}`],
    at: [new Date().toISOString(), String(Date.now())],
    token: [page(session.page), page(order.page)],
    hash: [payout.payment_hash],
    alias: nodes.map(({ alias }) => alias),
    invoice: [payout.invoice],
  }
  return { pool: new Map(Object.entries({ ...PLAIN, ...found })), agents }
}

/** What belongs to others: orders of buyers and of wallets that nobody here has a key of, the agents' offers and API keys. */
async function othersIn(product: Market['product'], pubkey: string, { owners, identityOf }: Callers) {
  const bought = await Promise.all(Array.from({ length: OTHERS_ORDERS }, () => buy(product)))
  const placed = await Promise.all(['recommended', 'cheapest'].map((type) => lspOrder(product.url, type, pubkey)))
  const { list } = await one<{ list: readonly { readonly id: string; readonly pubkey: string }[] }>(
    product.url,
    '{ market { offer { offers(page: { limit: 100 }) { total_count list { id pubkey } } } } }',
  )
  const offers = list.filter((offer) => offer.pubkey !== pubkey).slice(0, 2)
  await owners.catchUp()
  const own = [identityOf('dashboard')?.account, identityOf('seller')?.account]
  const apiKeys = [...owners.belongings].flatMap(([id, one]) => (one.what === 'API key' && !own.includes(one.owner) ? [id] : []))
  return { orders: [...bought.map(({ id }) => id), ...placed], offers: offers.map(({ id }) => id), apiKeys: apiKeys.slice(0, 2) }
}

/** @returns its id */
async function lspOrder(url: string, type: string, pubkey: string): Promise<string> {
  const response = await fetch(`${url}/api/lsp/v1/${type}/create_order`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(lspOrderFor(pubkey)),
  })
  if (!response.ok) throw new Error(`${type}: ${response.status} ${await response.text()}`)
  const { order_id: id } = (await response.json()) as { order_id: string } // as LSPS1 answers
  return id
}

/** An offer whose orders wait for the seller's word. @returns its id */
export async function offerOf(url: string, pubkey: string, token: string | undefined): Promise<string> {
  const { offer_id: id } = await one<{ offer_id: string }>(
    url,
    `mutation { market { offer { create(input: { pubkey: "${pubkey}", total_size: "900000000", min_size: "100000", max_size: "16000000",
      min_block_length: 4320, fee_rate: 1500, base_fee: "500", fee_rate_cap: 500, base_fee_cap: "1000" }) { id offer_id } } } }`,
    token,
  )
  return id
}

/** Orders that wait for a seller who is no agent. @param wanted the offer, and the node that is to have the channel */
export async function ordersOn(
  url: string,
  count: number,
  { offer, pubkey }: { readonly offer: string; readonly pubkey: string },
  token: string | undefined,
): Promise<readonly string[]> {
  const orders: string[] = []
  for (let made = 0; made < count; made++) {
    const input = `{ offer_id: "${offer}", pubkey: "${pubkey}", size: "1000000" }`
    const { id } = await one<{ id: string }>(
      url,
      `mutation { market { order { create(input: ${input}) { id status } } } }`,
      token,
    )
    orders.push(id)
  }
  return orders
}
