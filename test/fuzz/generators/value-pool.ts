import { buyChannel, findBuyer, listSimNodes } from '../../support/market-client.ts'
import { requestApiKey, type FuzzCallers, runOperation, FUZZ_PASSWORD } from '../callers.ts'
import { buildLspOrder } from './truncated-examples.ts'
import type { ValuePool } from './inputs.ts'
import type { FuzzMarket } from '../fuzz-market.ts'

export type KnownValues = {
  readonly values: ValuePool
  /** Keys of the demo sellers, whose agents keep working. */
  readonly agentPubkeys: readonly string[]
}

const OWN_ORDER_COUNT = 12
/** Number of orders by buyers that send no fuzz requests. */
const OTHERS_ORDER_COUNT = 3

/** Values that are valid in any market. */
const FIXED_VALUES: Readonly<Record<string, readonly string[]>> = {
  sats: ['1000', '9999999999999999', '2100000000000000'],
  usd_cents: ['500', '700', '1000'],
  redirect_url: ['https://shop.example/done?a=1'],
  email: ['buyer@example.org', 'seller@example.org', ...Array.from({ length: 20 }, (_, at) => `new${at}@example.org`)],
  password: [FUZZ_PASSWORD, 'another password of mine'],
  // The current password is also the new password, because another password would make later log-ins fail.
  new_password: [FUZZ_PASSWORD],
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

/** Creates the values that are valid in the running market, by field name. */
export async function createValuePool({ product }: FuzzMarket, callers: FuzzCallers): Promise<KnownValues> {
  const nodes = await listSimNodes(product)
  const buyer = await findBuyer(product)
  const pubkeys = nodes.map(({ pubkey }) => pubkey)
  const agentPubkeys = nodes.filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  const [seller, dashboard] = [callers.authorization('seller')?.slice(7), callers.authorization('dashboard')?.slice(7)]
  const offer = await createFuzzOffer(product.url, buyer.pubkey, seller)
  const orders = await placeOrders(product.url, OWN_ORDER_COUNT, { offer, pubkey: agentPubkeys[0] ?? '' }, dashboard)
  const others = await createOthers(product, buyer.pubkey, callers)
  const apiKeys = await Promise.all([dashboard, seller].map((token) => requestApiKey(product.url, token)))
  const payout = await product.operator<{ invoice: string; payment_hash: string }>('POST', '/sim/invoice', {
    alias: buyer.alias,
    sats: '2000',
    expirySeconds: 604_800,
  })
  const { session, order } = callers.boughtOrders
  const orderIds = [session.id, order.id, ...orders, ...others.orders]
  const pageToken = (url: string) => url.slice(url.lastIndexOf('/') + 1)
  const marketValues: Readonly<Record<string, readonly string[]>> = {
    order_id: orderIds,
    // Ids of orders in URL paths, and of API keys to revoke.
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
    token: [pageToken(session.page), pageToken(order.page)],
    hash: [payout.payment_hash],
    alias: nodes.map(({ alias }) => alias),
    invoice: [payout.invoice],
  }
  return { values: new Map(Object.entries({ ...FIXED_VALUES, ...marketValues })), agentPubkeys }
}

/** Creates orders of other buyers and wallets, and finds offers and API keys of other accounts. */
async function createOthers(product: FuzzMarket['product'], pubkey: string, { owners, identityOf }: FuzzCallers) {
  const purchases = await Promise.all(Array.from({ length: OTHERS_ORDER_COUNT }, () => buyChannel(product)))
  const lspOrders = await Promise.all(['recommended', 'cheapest'].map((type) => placeLspOrder(product.url, type, pubkey)))
  const { list } = await runOperation<{ list: readonly { readonly id: string; readonly pubkey: string }[] }>(
    product.url,
    '{ market { offer { offers(page: { limit: 100 }) { total_count list { id pubkey } } } } }',
  )
  const offers = list.filter((offer) => offer.pubkey !== pubkey).slice(0, 2)
  await owners.catchUp()
  const ownAccounts = [identityOf('dashboard')?.account, identityOf('seller')?.account]
  const apiKeys = [...owners.ownedObjects].flatMap(([id, belonging]) =>
    belonging.kind === 'API key' && !ownAccounts.includes(belonging.owner) ? [id] : [],
  )
  return {
    orders: [...purchases.map(({ id }) => id), ...lspOrders],
    offers: offers.map(({ id }) => id),
    apiKeys: apiKeys.slice(0, 2),
  }
}

/** Places an LSPS1 order. @returns its id */
async function placeLspOrder(url: string, type: string, pubkey: string): Promise<string> {
  const response = await fetch(`${url}/api/lsp/v1/${type}/create_order`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(buildLspOrder(pubkey)),
  })
  if (!response.ok) throw new Error(`${type}: ${response.status} ${await response.text()}`)
  const { order_id: id } = (await response.json()) as { order_id: string } // as LSPS1 answers
  return id
}

/** Creates an offer whose orders wait for the seller's decision. @returns its id */
export async function createFuzzOffer(url: string, pubkey: string, token: string | undefined): Promise<string> {
  const { offer_id: id } = await runOperation<{ offer_id: string }>(
    url,
    `mutation { market { offer { create(input: { pubkey: "${pubkey}", total_size: "900000000", min_size: "100000", max_size: "16000000",
      min_block_length: 4320, fee_rate: 1500, base_fee: "500", fee_rate_cap: 500, base_fee_cap: "1000" }) { id offer_id } } } }`,
    token,
  )
  return id
}

/** Places orders on `offer` that wait for a seller without an agent; `pubkey` is the node that gets the channel. */
export async function placeOrders(
  url: string,
  count: number,
  { offer, pubkey }: { readonly offer: string; readonly pubkey: string },
  token: string | undefined,
): Promise<readonly string[]> {
  const orders: string[] = []
  for (let placedCount = 0; placedCount < count; placedCount++) {
    const input = `{ offer_id: "${offer}", pubkey: "${pubkey}", size: "1000000" }`
    const { id } = await runOperation<{ id: string }>(
      url,
      `mutation { market { order { create(input: ${input}) { id status } } } }`,
      token,
    )
    orders.push(id)
  }
  return orders
}
