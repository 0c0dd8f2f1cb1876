import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { newCredential } from '@penstock/credentials/credentials.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  type PurchasedOrder,
  buyChannel,
  findBuyer,
  waitForStatus,
  sendGraphql,
  type SimulatedNode,
  listSimNodes,
} from '../../support/market-client.ts'
import { requestApiKey, buyAsAccount, connectFuzzNode, requestLogin, runOperation, createNodeProof } from '../callers.ts'
import { readLogEnd, findUnexplainedFacts } from './unexplained-facts.ts'
import { type FuzzMarket, startFuzzMarket } from '../fuzz-market.ts'
import { createFuzzOffer, placeOrders } from '../generators/value-pool.ts'

/** In this file, every caller tries each operation on an owned object, with input that succeeds for the owner. */

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
type CallerName = (typeof NAMES)[number]

const UNKNOWN = '01a1f000-0000-7000-8000-000000000000'
const ACCOUNT: readonly CallerName[] = ['an account', 'its API key']
const SELLER: readonly CallerName[] = ['a seller', "the seller's API key"]

let market: FuzzMarket
let agents: readonly string[]
let tokens: ReadonlyMap<CallerName, string>
let node: SimulatedNode
let session: PurchasedOrder
let order: PurchasedOrder
/** Ids of the account's orders at the seller: accepted, rejected and cancelled. */
let sold: string
let rejected: string
let withdrawn: string
let offer: string
let apiKey: string

beforeAll(async () => {
  market = await startFuzzMarket()
  const { product } = market
  const nodes = await listSimNodes(product)
  agents = nodes.filter(({ role }) => role === 'seller').map(({ pubkey }) => pubkey)
  node = await findBuyer(product)
  const spare = nodes.find(({ alias }) => alias.startsWith('spare')) ?? assert.fail('there is no spare node')
  const [account, seller, other] = await Promise.all(
    ['account', 'seller', 'other'].map((name) => requestLogin(product.url, 'create', `${name}@example.org`)),
  )
  assert.ok(account && seller && other)
  await Promise.all([connectFuzzNode(market, seller.token, node), connectFuzzNode(market, other.token, spare)])
  offer = await createFuzzOffer(product.url, node.pubkey, seller.token)
  await createFuzzOffer(product.url, spare.pubkey, other.token)
  const keyOf = async (token: string) => (await requestApiKey(product.url, token)).key
  const [otherSession, otherOrder] = [await buyChannel(product), await buyAsAccount(market, account.token)]
  session = await buyChannel(product)
  order = await buyAsAccount(market, account.token)
  ;[sold = '', rejected = '', withdrawn = ''] = await placeOrders(
    product.url,
    3,
    { offer, pubkey: agents[0] ?? '' },
    account.token,
  )
  apiKey = (await requestApiKey(product.url, seller.token)).id
  tokens = new Map<CallerName, string>([
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

type AccessRule = {
  readonly what: string
  /** Builds a query with valid input. @param id the id of an owned object, or an unknown id */
  readonly query: (id: string) => string | Promise<string>
  readonly id: () => string
  /** Callers for which the operation succeeds. They try it one after the other. */
  readonly owners: readonly CallerName[]
  /** Callers that are refused, but may learn from the refusal that the object exists. */
  readonly mayKnowOf?: readonly CallerName[]
  /** A step that must run before the callers try the operation. */
  readonly before?: () => Promise<void>
}

const SHOWN = 'id status is_seller payment { lightning { invoice } }'
const getOrder = (id: string) => `{ user { market { orders { get_order(order_id: "${id}") { ${SHOWN} } } } } }`
const cancel = (id: string) => `mutation { market { order { cancel(input: { order_id: "${id}" }) { id success } } } }`
const selling = (name: string, id: string, moreFields = '') =>
  `mutation { market { order { seller { ${name}(input: { order_id: "${id}" ${moreFields} }) { id success } } } } }`
const offering = (name: string, id: string, moreFields = '') =>
  `mutation { market { offer { ${name}(input: { offer_id: "${id}" ${moreFields} }) { id offer_id } } } }`
const outpoint = `${'ab'.repeat(32)}:0`

let payout: Promise<string> | undefined
/** Creates a payout invoice that the order accepts: from the seller's node, with exactly the seller's amount. */
const invoiceFor = (id: string): Promise<string> =>
  (payout ??= (async () => {
    const { url } = market.product
    const amounts = `{ user { market { orders { get_order(order_id: "${id}") { id fees { seller { sats } } } } } } }`
    const { fees } = await runOperation<{ fees: { seller: { sats: string } } }>(url, amounts, tokens.get('a seller'))
    const request = { alias: node.alias, sats: fees.seller.sats, expirySeconds: 604_800 }
    return (await market.product.operator<{ invoice: string }>('POST', '/sim/invoice', request)).invoice
  })())

async function payAndWaitForRequest(): Promise<void> {
  const { product } = market
  const { url } = product
  const key = tokens.get('an account') ?? ''
  const invoice = await waitUntil('the invoice of the order', async () => {
    const shown = await runOperation<{ payment: { lightning: { invoice: string | null } } }>(url, getOrder(sold), key)
    return shown.payment.lightning.invoice
  })
  await product.operator('POST', '/sim/pay', { invoice })
  await waitForStatus(product, { id: sold, key }, ['WAITING_FOR_CHANNEL_OPEN'])
  const salesQuery = `{ user { market { orders { sales(input: { action_needed: true }) { total_count list { id } } } } } }`
  await waitUntil('the request to the seller', async () => {
    const { list } = await runOperation<{ list: readonly { id: string }[] }>(url, salesQuery, tokens.get('a seller'))
    return list.some(({ id }) => id === sold)
  })
}

const accessRules: readonly AccessRule[] = [
  { what: "get_order of a session's order", query: getOrder, id: () => session.id, owners: ['a session'] },
  { what: "get_order of an account's order", query: getOrder, id: () => order.id, owners: [...ACCOUNT, 'the key of an order'] },
  { what: 'get_order of a sold order', query: getOrder, id: () => sold, owners: [...ACCOUNT, ...SELLER] },
  { what: "cancel of a session's order", query: cancel, id: () => session.id, owners: ['a session'] },
  { what: "cancel of an account's order", query: cancel, id: () => order.id, owners: ['the key of an order', ...ACCOUNT] },
  { what: 'cancel of a sold order', query: cancel, id: () => withdrawn, owners: ACCOUNT, mayKnowOf: SELLER },
  {
    what: 'accept of an order',
    query: async (id) => selling('accept', id, `request: "${await invoiceFor(sold)}"`),
    id: () => sold,
    owners: SELLER,
    mayKnowOf: ACCOUNT,
  },
  {
    what: 'reject of an order',
    query: (id) => selling('reject', id, 'reason: "no"'),
    id: () => rejected,
    owners: SELLER,
    mayKnowOf: ACCOUNT,
  },
  {
    what: 'add_transaction to an order',
    query: (id) => selling('add_transaction', id, `transaction: "${outpoint}"`),
    id: () => sold,
    owners: SELLER,
    mayKnowOf: ACCOUNT,
    before: payAndWaitForRequest,
  },
  { what: 'update of an offer', query: (id) => offering('update', id, 'fee_rate: 1600'), id: () => offer, owners: SELLER },
  { what: 'toggle of an offer', query: (id) => offering('toggle', id), id: () => offer, owners: SELLER },
  {
    what: 'revoke_api_key',
    query: (id) => `mutation { account { revoke_api_key(id: "${id}") { id active } } }`,
    id: () => apiKey,
    owners: ['a seller'],
  },
]

const queryAs = (name: CallerName, query: string) => sendGraphql<unknown>(market.product.url, query, {}, tokens.get(name))

/** @returns unexplained changes since the position, except prices, which also change when an agent's offer arrives */
async function changedSince(position: Awaited<ReturnType<typeof readLogEnd>>['position']): Promise<readonly string[]> {
  const changes = await findUnexplainedFacts(market.product.dataDir, position, new Map(), { agentPubkeys: agents, rejections: 0 })
  return changes.filter((change) => !change.includes('(PriceSet)'))
}

describe('only its owners can use', () => {
  test.each(accessRules)('$what', async ({ query, id, owners, mayKnowOf = [], before }) => {
    await before?.()
    const { position } = await readLogEnd(market.product.dataDir)
    const [known, unknown] = [await query(id()), await query(UNKNOWN)]
    for (const name of NAMES.filter((one) => !owners.includes(one))) {
      const answer = await queryAs(name, known)
      assert.equal(answer.errors?.length, 1, `${name}: ${JSON.stringify(answer)}`)
      // A caller that does not know the object gets the same refusal as for an unknown id.
      const actual = mayKnowOf.includes(name) ? answer : await queryAs(name, unknown)
      assert.deepEqual(answer, actual, name)
    }
    assert.deepEqual(await changedSince(position), [])
    for (const name of owners) {
      const { data, errors } = await queryAs(name, known)
      assert.equal(errors, undefined, `${name}: ${JSON.stringify(errors)}`)
      assert.ok(JSON.stringify(data).includes(`"${id()}"`), name)
    }
  })

  test('an order in their role: the buyer sees the invoice, and the seller does not', async () => {
    const roleOf = async (name: CallerName) => {
      const { is_seller: isSeller, payment } = await runOperation<{
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
  const ids = (query: string) => async (name: CallerName) => {
    const { data } = await queryAs(name, query)
    return [...JSON.stringify(data ?? null).matchAll(/"id":"([0-9a-f-]{36})"/g)].flatMap(([, id]) => id ?? [])
  }
  const bought = ids('{ user { transactions { transaction_list { list { id } } } } }')
  const purchases = ids('{ user { market { orders { purchases { list { id } } } } } }')
  const sales = ids('{ user { market { orders { sales { list { id } } } } } }')
  const keys = ids('{ account { api_keys(page: { limit: 100 }) { list { id } } } }')

  test('show only the orders of the caller', async () => {
    const manual = [sold, rejected, withdrawn]
    const none = NAMES.filter((name) => /nobody|stranger|operator|another seller|other seller's/.test(name))
    for (const name of none) assert.deepEqual([await bought(name), await purchases(name), await sales(name)], [[], [], []], name)
    assert.deepEqual(await bought('a session'), [session.id])
    assert.deepEqual(await bought('the key of an order'), [order.id])
    for (const name of ['another session', 'the key of another order'] as const) {
      const [one, ...otherOrders] = await bought(name)
      assert.ok(one !== undefined && ![session.id, order.id, ...manual].includes(one), name)
      assert.deepEqual(otherOrders, [], name)
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

  test('of API keys are shown only to the person that owns them', async () => {
    const shown = new Map<CallerName, readonly string[]>()
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

describe('only its owner can use', () => {
  type NodeRule = { readonly what: string; readonly query: () => Promise<string>; readonly owners: readonly CallerName[] }
  const operations: readonly NodeRule[] = [
    {
      what: 'a node for an offer',
      query:
        async () => `mutation { market { offer { create(input: { pubkey: "${node.pubkey}", total_size: "900000000", min_size: "100000",
        max_size: "16000000", min_block_length: 4320, fee_rate: 1500, base_fee: "500", fee_rate_cap: 500, base_fee_cap: "1000" }) { id } } } }`,
      owners: SELLER,
    },
    {
      what: 'a node to attest funds',
      query: async () => {
        const at = Date.now()
        const text = formatFundsAttestation({ pubkey: node.pubkey, confirmedSats: 5_000_000n, at })
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
      what: 'the challenge of a node',
      query: async () => {
        const marketNode =
          (await listSimNodes(market.product)).find(({ alias }) => alias === 'market') ?? assert.fail('no market node')
        const proof = await createNodeProof(market, tokens.get('a seller') ?? '', marketNode)
        return `mutation { account { node { connect(input: { pubkey: "${proof.pubkey}", challenge: "${proof.challenge}",
          signature: "${proof.signature}" }) { id success } } } }`
      },
      owners: ['a seller'],
    },
  ]

  test.each(operations)('$what', async ({ query, owners }) => {
    const rule = await query()
    const { position } = await readLogEnd(market.product.dataDir)
    for (const name of NAMES.filter((one) => !owners.includes(one) && !(owners.length === 1 && SELLER.includes(one)))) {
      const answer = await queryAs(name, rule)
      assert.equal(answer.errors?.length, 1, `${name}: ${JSON.stringify(answer)}`)
    }
    assert.deepEqual(await changedSince(position), [])
    for (const name of owners) assert.equal((await queryAs(name, rule)).errors, undefined, name)
  })
})
