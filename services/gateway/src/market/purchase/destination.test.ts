import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { createPublicHostGuard } from '@penstock/outbound/host-guard.ts'
import { buyerAccountId, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../fake-market.fixture.ts'
import { createLsps1Mount } from '../../lsps1/routes.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'
import { withMarketTables } from '../views/tables.ts'

const pubkey = BUYER_URI.slice(0, 66)
const seller = derivePubkey(new Uint8Array(32).fill(1))
const onion = 'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguawjyd.onion'
const { offerId, promises } = createOrderTerms().candidate

let market: GatewayHarness
let announced: readonly string[]
const addresses = async (node: string) => ({ alias: '', sockets: node === seller ? ['8.8.4.4:9735'] : announced })
const names: Record<string, readonly string[]> = {
  'node.example.org': ['8.8.8.8'],
  'rebound.example.org': ['8.8.8.8', '10.0.0.1'],
}
const guarded = createPublicHostGuard({ resolve: async (name) => names[name] ?? [], hasTor: async () => null })

beforeEach(async () => {
  announced = []
  market = await openGatewayHarness({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
    addresses,
    hostGuard: guarded,
    mounts: [createLsps1Mount({ peers: { addresses }, chain: { feeRate: async () => 5 } })],
  })
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

describe('liquidity.buy', () => {
  const BUY = 'mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
  const buy = (host: string, redirect_url?: string) =>
    market.gql(BUY, { input: { connection_uri: `${pubkey}@${host}`, usd_cents: '500', ...(redirect_url && { redirect_url }) } })

  test.each([
    ['127.0.0.1:9735', '127.0.0.1 is an address for special purposes (Loopback, RFC 1122)'],
    ['169.254.169.254:80', '169.254.169.254 is an address for special purposes (Link Local, RFC 3927)'],
    ['[::ffff:10.0.0.1]:9735', '::ffff:a00:1 is an address for special purposes (IPv4-mapped Address, RFC 4291)'],
    ['localhost:10009', 'localhost is no address and no public name'],
    ['vault.internal:443', 'vault.internal is a name of local networks'],
    ['rebound.example.org:9735', 'rebound.example.org does not stand for public addresses alone'],
  ])('the address %s is refused before a slot is stored or a command is sent', async (host, reason) => {
    const answer = await buy(host, 'https://shop.example/thanks')
    expect(answer.status).toBe(200)
    expect(readPath(answer, 'liquidity.buy')).toBeNull()
    expect(answer.errors).toMatchObject([
      {
        message: `connection_uri must name a public address: ${reason}.`,
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'ADDRESS_NOT_PUBLIC' },
      },
    ])
    expect(market.sent).toEqual([])
    expect(await withMarketTables(market.gateway.views).selectFrom('gateway_order_slots').selectAll().execute()).toEqual([])
  })
  test.each(['8.8.8.8:9735', 'node.example.org:9735', '[2a00:1450::1]:9735', `${onion}:9735`])('%s is accepted', async (host) => {
    const answer = await buy(host)
    expect([answer.errors, typeof readPath(answer, 'liquidity.buy.order.transaction_id')]).toEqual([undefined, 'string'])
    // Settlement and sellers check the address again, so they get it as the buyer sent it.
    expect(market.sent[0]?.ask.command.data).toMatchObject({ destination: { pubkey, sockets: [host] } })
  })
})

/** The sockets that a node announces, and whether the market sells to it. */
const announcements: readonly (readonly [readonly string[], boolean])[] = [
  [[], true],
  [['8.8.8.8:9735'], true],
  [['10.0.0.1:9735', '8.8.8.8:9735'], true],
  [[`${onion}:9735`, '10.0.0.1:9735'], true],
  [['10.0.0.1:9735'], false],
  [['127.0.0.1:9735', '[fe80::1]:9735', '[::1]:9735'], false],
]
const NOT_PUBLIC = 'The node announces no public address. Let it announce one, or none, and order again.'

test.each(announcements)('order.create for a node that announces %j succeeds: %s', async (sockets, isServed) => {
  announced = sockets
  const key = await market.apiKey(buyerAccountId)
  const CREATE = 'mutation M($input: CreateManualOrderInput!) { market { order { create(input: $input) { id } } } }'
  const answer = await market.gql(CREATE, { input: { offer_id: offerId, pubkey, size: '1000000' } }, key)
  const refusal = { message: NOT_PUBLIC, extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'ADDRESS_NOT_PUBLIC' } }
  expect(answer.errors ?? []).toMatchObject(isServed ? [] : [refusal])
  expect(market.sent).toHaveLength(isServed ? 1 : 0)
})

test.each(announcements)('create_order of LSPS1 for a node that announces %j succeeds: %s', async (sockets, isServed) => {
  announced = sockets
  const account = '10000000-0000-4000-8000-000000000001'
  await market.projectFacts('offer', account, [
    {
      type: 'OfferCreated',
      data: {
        totalSizeSat: '9000000',
        minSizeSat: '100000',
        maxSizeSat: '2000000',
        promises: { ...promises, minBlockLength: 13_140 },
        conditions: [],
        assetId: null,
        autoAccept: true,
        accountId: account,
        pubkey: seller,
      },
    },
  ])
  const appeared = { accountId: account, confirmedSat: '50000000', at: NOW }
  await market.projectFacts('seller', seller, [{ type: 'SellerAppeared', data: appeared }])
  const body = {
    public_key: pubkey,
    lsp_balance_sat: '1000000',
    client_balance_sat: '0',
    required_channel_confirmations: 1,
    funding_confirms_within_blocks: 6,
    channel_expiry_blocks: 13_140,
    announce_channel: true,
  }
  const response = await fetch(`${market.base}/api/lsp/v1/cheapest/create_order`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const refusal = { statusCode: 500, message: NOT_PUBLIC, error: { code: 1, data: { message: NOT_PUBLIC } } }
  const answer: unknown = await response.json()
  // The stub places no LSPS1 order. If the gateway serves the node, the test checks only that it sent a command.
  expect(isServed ? refusal : answer).toMatchObject(refusal)
  expect(market.sent).toHaveLength(isServed ? 1 : 0)
})
