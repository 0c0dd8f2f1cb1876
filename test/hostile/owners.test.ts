import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import { newCredential } from '@penstock/runtime/credentials.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { until } from '@penstock/testkit/until.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type Bought, buy, buyerOf, follow, graphql, type SimNode, simNodes } from '../harness/buyer.ts'
import { apiKeyOf, buyWith, connectNode, loginBy, one, proofOf } from './callers.ts'
import { endOf, unexplained } from './facts.ts'
import { type Market, openMarket } from './market.ts'
import { offerOf, ordersOn } from './pool.ts'

/** Each operation that is somebody's, by everybody else: with what it would be carried out for its owner. */

const NAMES = [
  'nobody',
  'a stranger',
  'the operator',
  'a session',
  'another session',
  'the key of an order',
  'the key of another order',
  'an account',
  'its API key',
  'a seller',
  "the seller's API key",
  'another seller',
  "the other seller's API key",
] as const
type Name = (typeof NAMES)[number]

const UNKNOWN = '01a1f000-0000-7000-8000-000000000000'
const ACCOUNT: readonly Name[] = ['an account', 'its API key']
const SELLER: readonly Name[] = ['a seller', "the seller's API key"]

let market: Market
let agents: readonly string[]
let tokens: ReadonlyMap<Name, string>
let node: SimNode
let session: Bought
let order: Bought
/** Of the account, from the seller: taken, rejected, taken back. */
let sold: string
let rejected: string
let withdrawn: string
let offer: string
let apiKey: string

beforeAll(async () => {
  market = await openMarket()
  const { product } = market
  const nodes = await simNodes(product)
  agents = nodes.filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  node = await buyerOf(product)
  const spare = nodes.find(({ alias }) => alias.startsWith('spare')) ?? assert.fail('there is no spare node')
  const [account, seller, other] = await Promise.all(
    ['account', 'seller', 'other'].map((name) => loginBy(product.url, 'create', `${name}@example.org`)),
  )
  assert.ok(account && seller && other)
  await Promise.all([connectNode(market, seller.token, node), connectNode(market, other.token, spare)])
  offer = await offerOf(product.url, node.pubkey, seller.token)
  await offerOf(product.url, spare.pubkey, other.token)
  const keyOf = async (token: string) => (await apiKeyOf(product.url, token)).key
  const [otherSession, otherOrder] = [await buy(product), await buyWith(market, account.token)]
  session = await buy(product)
  order = await buyWith(market, account.token)
  ;[sold = '', rejected = '', withdrawn = ''] = await ordersOn(product.url, 3, { offer, pubkey: agents[0] ?? '' }, account.token)
  apiKey = (await apiKeyOf(product.url, seller.token)).id
  tokens = new Map<Name, string>([
    ['a stranger', newCredential('psk_', systemIds())],
    ['the operator', market.operatorToken],
    ['a session', session.key],
    ['another session', otherSession.key],
    ['the key of an order', order.key],
    ['the key of another order', otherOrder.key],
    ['an account', account.token],
    ['its API key', await keyOf(account.token)],
    ['a seller', seller.token],
    ["the seller's API key", await keyOf(seller.token)],
    ['another seller', other.token],
    ["the other seller's API key", await keyOf(other.token)],
  ])
}, 120_000)
afterAll(async () => {
  await market.product.stop()
})

type Bound = {
  readonly what: string
  /** With what it takes to be carried out. @param id of that which belongs to somebody, or of nothing */
  readonly query: (id: string) => string | Promise<string>
  readonly id: () => string
  /** Who has it carried out, one after the other. */
  readonly owners: readonly Name[]
  /** Who is told that it cannot be, and knows that it is there. */
  readonly knowing?: readonly Name[]
  /** What has to come before. */
  readonly before?: () => Promise<void>
}

const SHOWN = 'id status is_seller payment { lightning { invoice } }'
const getOrder = (id: string) => `{ user { market { orders { get_order(order_id: "${id}") { ${SHOWN} } } } } }`
const cancel = (id: string) => `mutation { market { order { cancel(input: { order_id: "${id}" }) { id success } } } }`
const selling = (name: string, id: string, more = '') =>
  `mutation { market { order { seller { ${name}(input: { order_id: "${id}" ${more} }) { id success } } } } }`
const offering = (name: string, id: string, more = '') =>
  `mutation { market { offer { ${name}(input: { offer_id: "${id}" ${more} }) { id offer_id } } } }`
const outpoint = `${'ab'.repeat(32)}:0`

let payout: Promise<string> | undefined
/** One that the order takes: from the node that sells, over just what it gets. */
const invoiceFor = (id: string): Promise<string> =>
  (payout ??= (async () => {
    const { url } = market.product
    const amounts = `{ user { market { orders { get_order(order_id: "${id}") { id fees { seller { sats } } } } } } }`
    const { fees } = await one<{ fees: { seller: { sats: string } } }>(url, amounts, tokens.get('a seller'))
    const wanted = { alias: node.alias, sats: fees.seller.sats, expirySeconds: 604_800 }
    return (await market.product.operator<{ invoice: string }>('POST', '/sim/invoice', wanted)).invoice
  })())

async function paid(): Promise<void> {
  const { product } = market
  const { url } = product
  const key = tokens.get('an account') ?? ''
  const invoice = await until('the order has its invoice', async () => {
    const shown = await one<{ payment: { lightning: { invoice: string | null } } }>(url, getOrder(sold), key)
    return shown.payment.lightning.invoice
  })
  await product.operator('POST', '/sim/pay', { invoice })
  await follow(product, { id: sold, key }, ['WAITING_FOR_CHANNEL_OPEN'])
  const asked = `{ user { market { orders { sales(input: { action_needed: true }) { total_count list { id } } } } } }`
  await until('the seller is asked', async () => {
    const { list } = await one<{ list: readonly { id: string }[] }>(url, asked, tokens.get('a seller'))
    return list.some(({ id }) => id === sold)
  })
}

const bounds: readonly Bound[] = [
  { what: "get_order of a session's", query: getOrder, id: () => session.id, owners: ['a session'] },
  { what: "get_order of an account's", query: getOrder, id: () => order.id, owners: [...ACCOUNT, 'the key of an order'] },
  { what: 'get_order of one that is sold', query: getOrder, id: () => sold, owners: [...ACCOUNT, ...SELLER] },
  { what: "cancel of a session's", query: cancel, id: () => session.id, owners: ['a session'] },
  { what: "cancel of an account's", query: cancel, id: () => order.id, owners: ['the key of an order', ...ACCOUNT] },
  { what: 'cancel of one that is sold', query: cancel, id: () => withdrawn, owners: ACCOUNT, knowing: SELLER },
  {
    what: 'accept',
    query: async (id) => selling('accept', id, `request: "${await invoiceFor(sold)}"`),
    id: () => sold,
    owners: SELLER,
    knowing: ACCOUNT,
  },
  {
    what: 'reject',
    query: (id) => selling('reject', id, 'reason: "no"'),
    id: () => rejected,
    owners: SELLER,
    knowing: ACCOUNT,
  },
  {
    what: 'add_transaction',
    query: (id) => selling('add_transaction', id, `transaction: "${outpoint}"`),
    id: () => sold,
    owners: SELLER,
    knowing: ACCOUNT,
    before: paid,
  },
  { what: 'an offer’s update', query: (id) => offering('update', id, 'fee_rate: 1600'), id: () => offer, owners: SELLER },
  { what: 'an offer’s toggle', query: (id) => offering('toggle', id), id: () => offer, owners: SELLER },
  {
    what: 'revoke_api_key',
    query: (id) => `mutation { account { revoke_api_key(id: "${id}") { id active } } }`,
    id: () => apiKey,
    owners: ['a seller'],
  },
]

const asked = (name: Name, query: string) => graphql<unknown>(market.product.url, query, {}, tokens.get(name))

/** @returns what has changed since, that somebody asked for: the price is of the agents' offers, which come one by one */
async function changedSince(position: Awaited<ReturnType<typeof endOf>>['position']): Promise<readonly string[]> {
  const changes = await unexplained(market.product.dataDir, position, new Map(), { agents, rejections: 0 })
  return changes.filter((change) => !change.includes('(PriceSet)'))
}

describe('whose it is not', () => {
  test.each(bounds)('$what', async ({ query, id, owners, knowing = [], before }) => {
    await before?.()
    const { position } = await endOf(market.product.dataDir)
    const [known, unknown] = [await query(id()), await query(UNKNOWN)]
    for (const name of NAMES.filter((one) => !owners.includes(one))) {
      const answer = await asked(name, known)
      assert.equal(answer.errors?.length, 1, `${name}: ${JSON.stringify(answer)}`)
      // To whom it is nothing it is told in the same words as that there is none.
      const told = knowing.includes(name) ? answer : await asked(name, unknown)
      assert.deepEqual(answer, told, name)
    }
    assert.deepEqual(await changedSince(position), [])
    for (const name of owners) {
      const { data, errors } = await asked(name, known)
      assert.equal(errors, undefined, `${name}: ${JSON.stringify(errors)}`)
      assert.ok(JSON.stringify(data).includes(`"${id()}"`), name)
    }
  })

  test('whoever has the buyer’s side of an order is not shown the seller’s, and no seller the invoice', async () => {
    const roleOf = async (name: Name) => {
      const { is_seller: isSeller, payment } = await one<{
        readonly is_seller: boolean
        readonly payment: { readonly lightning: { readonly invoice: string | null } }
      }>(market.product.url, getOrder(sold), tokens.get(name))
      return { isSeller, hasInvoice: payment.lightning.invoice !== null }
    }
    for (const name of ACCOUNT) assert.deepEqual(await roleOf(name), { isSeller: false, hasInvoice: true }, name)
    for (const name of SELLER) assert.deepEqual(await roleOf(name), { isSeller: true, hasInvoice: false }, name)
  })
})

describe('lists', () => {
  const ids = (query: string) => async (name: Name) => {
    const { data } = await asked(name, query)
    return [...JSON.stringify(data ?? null).matchAll(/"id":"([0-9a-f-]{36})"/g)].flatMap(([, id]) => id ?? [])
  }
  const bought = ids('{ user { transactions { transaction_list { list { id } } } } }')
  const purchases = ids('{ user { market { orders { purchases { list { id } } } } } }')
  const sales = ids('{ user { market { orders { sales { list { id } } } } } }')
  const keys = ids('{ account { api_keys(page: { limit: 100 }) { list { id } } } }')

  test('show what is one’s own and nothing else', async () => {
    const manual = [sold, rejected, withdrawn]
    const none = NAMES.filter((name) => /nobody|stranger|operator|another seller|other seller's/.test(name))
    for (const name of none) assert.deepEqual([await bought(name), await purchases(name), await sales(name)], [[], [], []], name)
    assert.deepEqual(await bought('a session'), [session.id])
    assert.deepEqual(await bought('the key of an order'), [order.id])
    for (const name of ['another session', 'the key of another order'] as const) {
      const [one, ...more] = await bought(name)
      assert.ok(one !== undefined && ![session.id, order.id, ...manual].includes(one), name)
      assert.deepEqual(more, [], name)
    }
    const all = [...(await bought('the key of another order')), order.id, ...manual].toSorted()
    for (const name of ACCOUNT) {
      assert.deepEqual((await bought(name)).toSorted(), all, name)
      assert.deepEqual((await purchases(name)).toSorted(), all, name)
      assert.deepEqual(await sales(name), [], name)
    }
    for (const name of SELLER) {
      assert.deepEqual(await bought(name), [], name)
      assert.deepEqual((await sales(name)).toSorted(), manual.toSorted(), name)
    }
  })

  test('of API keys are for the person alone whose they are', async () => {
    const shown = new Map<Name, readonly string[]>()
    for (const name of NAMES) shown.set(name, await keys(name))
    const some = [...shown].filter(([, list]) => list.length > 0)
    assert.deepEqual(
      some.map(([name]) => name),
      ['an account', 'a seller', 'another seller'],
    )
    assert.equal(new Set(some.flatMap(([, list]) => list)).size, some.flatMap(([, list]) => list).length)
    assert.deepEqual(
      some.filter(([, list]) => list.includes(apiKey)).map(([name]) => name),
      ['a seller'],
    )
  })
})

describe('nodes', () => {
  type Given = { readonly what: string; readonly query: () => Promise<string>; readonly owners: readonly Name[] }
  const operations: readonly Given[] = [
    {
      what: 'an offer of one that somebody else has proven',
      query:
        async () => `mutation { market { offer { create(input: { pubkey: "${node.pubkey}", total_size: "900000000", min_size: "100000",
        max_size: "16000000", min_block_length: 4320, fee_rate: 1500, base_fee: "500", fee_rate_cap: 500, base_fee_cap: "1000" }) { id } } } }`,
      owners: SELLER,
    },
    {
      what: 'the funds of one that somebody else has proven',
      query: async () => {
        const at = Date.now()
        const text = fundsAttestationText({ pubkey: node.pubkey, confirmedSats: 5_000_000n, at })
        const { signature } = await market.product.operator<{ signature: string }>('POST', '/sim/sign', {
          alias: node.alias,
          text,
        })
        return `mutation { market { offer { attest(input: { pubkey: "${node.pubkey}", confirmed_sats: "5000000", at: "${at}",
          signature: "${signature}" }) { id success } } } }`
      },
      owners: ['a seller'],
    },
    {
      what: 'one that was asked for by another account',
      query: async () => {
        const own = (await simNodes(market.product)).find(({ alias }) => alias === 'market') ?? assert.fail('there is no market')
        const proof = await proofOf(market, tokens.get('a seller') ?? '', own)
        return `mutation { account { node { connect(input: { pubkey: "${proof.pubkey}", challenge: "${proof.challenge}",
          signature: "${proof.signature}" }) { id success } } } }`
      },
      owners: ['a seller'],
    },
  ]

  test.each(operations)('$what', async ({ query, owners }) => {
    const given = await query()
    const { position } = await endOf(market.product.dataDir)
    for (const name of NAMES.filter((one) => !owners.includes(one) && !(owners.length === 1 && SELLER.includes(one)))) {
      const answer = await asked(name, given)
      assert.equal(answer.errors?.length, 1, `${name}: ${JSON.stringify(answer)}`)
    }
    assert.deepEqual(await changedSince(position), [])
    for (const name of owners) assert.equal((await asked(name, given)).errors, undefined, name)
  })
})
