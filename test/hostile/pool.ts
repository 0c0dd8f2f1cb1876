import { buyerOf, simNodes } from '../harness/buyer.ts'
import { type Callers, one, PASSWORD } from './callers.ts'
import type { Pool } from './inputs.ts'
import type { Market } from './market.ts'

export type Known = {
  readonly pool: Pool
  /** Keys of the demonstration's sellers, whose agents go on working. */
  readonly agents: readonly string[]
}

const OWN_ORDERS = 12

/** Right wherever a market runs. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  sats: ['1000', '9999999999999999', '2100000000000000'],
  usd_cents: ['500', '700', '1000'],
  redirect_url: ['https://shop.example/done?a=1'],
  email: ['buyer@example.org', 'seller@example.org', ...Array.from({ length: 20 }, (_, at) => `new${at}@example.org`)],
  password: [PASSWORD, 'another password of mine'],
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
  const offer = await one<{ offer_id: string }>(
    product.url,
    `mutation { market { offer { create(input: { pubkey: "${buyer.pubkey}", total_size: "900000000", min_size: "100000", max_size: "16000000",
      min_block_length: 4320, fee_rate: 1500, base_fee: "500", fee_rate_cap: 500, base_fee_cap: "1000" }) { id offer_id } } } }`,
    seller,
  )
  const orders = await ordersOn(product.url, offer.offer_id, agents[0] ?? '', dashboard)
  const payout = await product.operator<{ invoice: string; payment_hash: string }>('POST', '/sim/invoice', {
    alias: buyer.alias,
    sats: '2000',
    expirySeconds: 604_800,
  })
  const { session, order } = callers.bought
  const orderIds = [session.id, order.id, ...orders]
  const page = (url: string) => url.slice(url.lastIndexOf('/') + 1)
  const found: Readonly<Record<string, readonly string[]>> = {
    order_id: orderIds,
    id: orderIds,
    offer_id: [offer.offer_id],
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

/** Orders that wait for a seller who is no agent. */
async function ordersOn(url: string, offerId: string, pubkey: string, token: string | undefined): Promise<readonly string[]> {
  const orders: string[] = []
  for (let made = 0; made < OWN_ORDERS; made++) {
    const input = `{ offer_id: "${offerId}", pubkey: "${pubkey}", size: "1000000" }`
    const { id } = await one<{ id: string }>(
      url,
      `mutation { market { order { create(input: ${input}) { id status } } } }`,
      token,
    )
    orders.push(id)
  }
  return orders
}
