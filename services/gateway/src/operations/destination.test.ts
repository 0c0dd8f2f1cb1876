import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { hostGuard } from '@penstock/outbound/host-guard.ts'
import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import { buyerAccount, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BUYER_URI, sells } from '../fake-market.contract.ts'
import { lsps1Routes } from '../lsps1/routes.ts'
import { at, type Stage, stage } from '../stage.contract.ts'
import { tablesOf } from '../views/tables.ts'

const pubkey = BUYER_URI.slice(0, 66)
const seller = pubkeyOf(new Uint8Array(32).fill(1))
const onion = `${'a2'.repeat(28)}.onion`
const { offerId, promises } = orderTermsOf().candidate

let market: Stage
let announced: readonly string[]
const addresses = async (node: string) => ({ alias: '', sockets: node === seller ? ['8.8.4.4:9735'] : announced })
const names: Record<string, readonly string[]> = {
  'node.example.org': ['8.8.8.8'],
  'rebound.example.org': ['8.8.8.8', '10.0.0.1'],
}
const guarded = hostGuard({ resolve: async (name) => names[name] ?? [], hasTor: async () => null })

beforeEach(async () => {
  announced = []
  market = await stage({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
    addresses,
    hostGuard: guarded,
    mounts: [lsps1Routes({ peers: { addresses }, chain: { feeRate: async () => 5 } })],
  })
  market.answers(sells(market))
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
  ])('%s is refused before anything is stored or sent', async (host, reason) => {
    const answer = await buy(host, 'https://shop.example/thanks')
    expect(answer.status).toBe(200)
    expect(at(answer, 'liquidity.buy')).toBeNull()
    expect(answer.errors).toMatchObject([
      {
        message: `connection_uri must name a public address: ${reason}.`,
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'ADDRESS_NOT_PUBLIC' },
      },
    ])
    expect(market.sent).toEqual([])
    expect(await tablesOf(market.gateway.views).selectFrom('gateway_order_slots').selectAll().execute()).toEqual([])
  })
  test.each(['8.8.8.8:9735', 'node.example.org:9735', '[2a00:1450::1]:9735', `${onion}:9735`])('%s is served', async (host) => {
    const answer = await buy(host)
    expect([answer.errors, typeof at(answer, 'liquidity.buy.order.transaction_id')]).toEqual([undefined, 'string'])
    // Settlement and sellers check it again: what they get is what the buyer said.
    expect(market.sent[0]?.ask.command.data).toMatchObject({ destination: { pubkey, sockets: [host] } })
  })
})

/** What a node announces, and whether it can be sold to. */
const announcements: readonly (readonly [readonly string[], boolean])[] = [
  [[], true],
  [['8.8.8.8:9735'], true],
  [['10.0.0.1:9735', '8.8.8.8:9735'], true],
  [[`${onion}:9735`, '10.0.0.1:9735'], true],
  [['10.0.0.1:9735'], false],
  [['127.0.0.1:9735', '[fe80::1]:9735', '[::1]:9735'], false],
]
const NOT_PUBLIC = 'The node announces no public address. Let it announce one, or none, and order again.'

test.each(announcements)('a named order for a node that announces %j: %s', async (sockets, isServed) => {
  announced = sockets
  const key = newCredential('pak_', market.gateway.ids)
  const keyHash = hashCredential(market.gateway.pepper, key)
  const created = { keyId: buyerAccount, keyHash, prefix: 'pak_', suffix: 'x', nameRecord: null, expiresAt: null }
  await market.happens('account', buyerAccount, [{ type: 'ApiKeyCreated', data: created }])
  const CREATE = 'mutation M($input: CreateManualOrderInput!) { market { order { create(input: $input) { id } } } }'
  const answer = await market.gql(CREATE, { input: { offer_id: offerId, pubkey, size: '1000000' } }, key)
  const refusal = { message: NOT_PUBLIC, extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'ADDRESS_NOT_PUBLIC' } }
  expect(answer.errors ?? []).toMatchObject(isServed ? [] : [refusal])
  expect(market.sent).toHaveLength(isServed ? 1 : 0)
})

test.each(announcements)('create_order of LSPS1 for a node that announces %j: %s', async (sockets, isServed) => {
  announced = sockets
  const account = '10000000-0000-4000-8000-000000000001'
  await market.happens('offer', account, [
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
  const appeared = { accountId: account, confirmedSat: '50000000', at: Date.now() }
  await market.happens('seller', seller, [{ type: 'SellerAppeared', data: appeared }])
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
  // The stage makes no LSPS1 order of it: a wish that was sent is what shows that it is served.
  expect(isServed ? refusal : answer).toMatchObject(refusal)
  expect(market.sent).toHaveLength(isServed ? 1 : 0)
})
