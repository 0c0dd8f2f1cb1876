import { systemIds } from '@penstock/adapters/system/ids.ts'
import { checkoutToken, isCredential, newCredential } from '@penstock/runtime/credentials.ts'
import fc from 'fast-check'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import { operatorToken } from '@penstock/platforms/operator-token.ts'
import { pageHash } from '@penstock/gateway/pages/address.ts'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { graphql } from '../harness/buyer.ts'
import { scratch } from '../harness/product.ts'
import { type Callers, one, openCallers } from './callers.ts'
import { type Market, openMarket } from './market.ts'
import { type Caller, fire } from './shot.ts'
import { ALIKE, ratioOf } from './timing.ts'

const GET = 'query ($id: String!) { user { market { orders { get_order(order_id: $id) { id status } } } } }'
const NOT_CONFIGURED = { operatorToken: '', operatorTokenFile: '' }
const UNKNOWN = '01a1f000-0000-7000-8000-000000000000'
/** Of two that take turns, in each batch. */
const ROUNDS = 40
const body = (page: string): string => page.slice(page.lastIndexOf('/') + 1)

let market: Market
let callers: Callers
beforeAll(async () => {
  market = await openMarket()
  callers = await openCallers(market)
}, 120_000)
afterAll(async () => {
  await callers.owners.close()
  await market.product.stop()
})

/** The bits of which every one is set in about half of all; fewer would show as a share that is far off. */
function assertRandom(secrets: readonly Uint8Array[], bits: number): void {
  assert.equal(new Set(secrets.map((secret) => Buffer.from(secret).toString('hex'))).size, secrets.length)
  for (let bit = 0; bit < bits; bit++) {
    const set = secrets.filter((secret) => ((secret[bit >> 3] ?? 0) >> (bit & 7)) & 1).length
    // Seven times the spread that chance has: never by accident.
    assert.ok(
      Math.abs(set / secrets.length - 0.5) < 3.5 / Math.sqrt(secrets.length),
      `bit ${bit} is set in ${set} of ${secrets.length}`,
    )
  }
}

describe('what is secret cannot be guessed', () => {
  const ids = systemIds()
  const COUNT = 20_000

  test('keys and tokens of callers have 256 random bits', () => {
    for (const prefix of ['psk_', 'pok_', 'pdt_', 'pak_'] as const)
      assertRandom(
        Array.from({ length: COUNT / 4 }, () => Buffer.from(newCredential(prefix, ids).slice(4, 47), 'base64url')),
        256,
      )
  })

  test('addresses of pages have 256 bits that say nothing of the order', () => {
    const pepper = ids.random(32)
    assertRandom(
      Array.from({ length: COUNT / 4 }, () => Buffer.from(checkoutToken(pepper, ids.uuid()), 'base64url')),
      256,
    )
  })

  test('ids of orders are all different, with 62 random bits beside their time', () => {
    const made = Array.from({ length: COUNT }, () => Buffer.from(ids.uuid().replaceAll('-', ''), 'hex'))
    assertRandom(
      // The upper two bits of the first of these bytes say what kind of id it is (RFC 9562), so it comes last.
      made.map((id) => Buffer.concat([id.subarray(9), id.subarray(8, 9)])),
      62,
    )
  })

  test("the operator's token has 256 bits", () => {
    assert.match(market.operatorToken, /^[\w-]{43}$/)
    const made = Array.from({ length: 1000 }, () => operatorToken(openDataDir(scratch()), NOT_CONFIGURED, ids))
    assertRandom(
      [...made, market.operatorToken].map((token) => Buffer.from(token, 'base64url')),
      256,
    )
  })
})

/** A credential with a right check sum under another kind's letters. */
const relabelled = (credential: string, prefix: string): string => {
  const text = prefix + credential.slice(4, 47)
  return text + crc32(text).toString(16).padStart(8, '0')
}
/** Of an order that this caller has no part in. */
const foreign = (caller: Caller): string => (caller === 'session' ? callers.bought.order.id : callers.bought.session.id)
const keyOf = (caller: Caller): string => callers.authorization(caller)?.slice(7) ?? assert.fail()

describe('kinds are never confused', () => {
  test('a credential opens nothing when anything about it is changed', async () => {
    const kinds: readonly Caller[] = ['session', 'order', 'dashboard', 'api', 'seller', 'operator']
    const changes: readonly ((key: string) => string)[] = [
      ...['psk_', 'pok_', 'pdt_', 'pak_'].map(
        (prefix) => (key: string) => (key.startsWith(prefix) ? 'x' : relabelled(key, prefix)),
      ),
      (key) => key.toUpperCase(),
      (key) => key.toLowerCase().replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
      (key) => key.slice(0, -1),
      (key) => `${key}0`,
      (key) => key + key,
      (key) => `${key},${key}`,
      (key) => `${key} ${key}`,
      (key) => `"${key}"`,
      (key) => `${key}%20`,
      (key) => encodeURIComponent(`${key}\u0000`),
      (key) => Buffer.from(key).toString('base64'),
      (key) => `${key.slice(0, -1)}\u00ff`,
      () => '__proto__',
      () => '[object Object]',
    ]
    for (const kind of kinds)
      for (const change of changes) {
        const shot = {
          target: '',
          caller: kind,
          method: 'POST',
          path: '/graphql',
          headers: { 'content-type': 'application/json' },
          body: '{"query":"{ user { transactions { transaction_list { total_count } } } }"}',
          kinds: [],
        }
        const graph = await fire(market, shot, `Bearer ${change(keyOf(kind))}`)
        assert.match(graph.text, /"code":"UNAUTHENTICATED"/, `${kind} ${change.toString()}`)
        const operator = await fire(
          market,
          { ...shot, method: 'GET', path: '/operator/parked', body: undefined },
          `Bearer ${change(keyOf(kind))}`,
        )
        assert.equal(operator.status, 401, `${kind} ${change.toString()}`)
      }
  })

  test('no kind opens what another opens', async () => {
    const status = async (key: string) =>
      (await fetch(`${market.product.url}/operator/parked`, { headers: { authorization: `Bearer ${key}` } })).status
    for (const kind of ['session', 'order', 'dashboard', 'api', 'seller'] as const) assert.equal(await status(keyOf(kind)), 401)
    const [{ errors }] = [await graphql(market.product.url, GET, { id: callers.bought.order.id }, market.operatorToken)]
    assert.equal(errors?.[0]?.message, 'Unauthorized token')
    const { session, order } = callers.bought
    const pages = [
      session.key,
      order.key,
      session.id,
      order.id,
      body(session.page).toUpperCase(),
      `${body(session.page)}%20`,
      body(session.page).slice(0, -1),
      `${body(session.page)}=`,
    ]
    for (const kind of ['checkout', 'orders'])
      for (const token of pages) assert.equal((await fetch(`${market.product.url}/${kind}/${token}`)).status, 404, token)
    // A page shows the order whose token it has, whatever else is asked for beside.
    const text = await (
      await fetch(`${market.product.url}/orders/${body(session.page)}?order_id=${order.id}&id=${order.id}`)
    ).text()
    assert.ok(!text.includes(order.id) && !text.includes(body(order.page)))
  })

  test('one changed letter makes a credential none', () => {
    fc.assert(
      fc.property(fc.nat({ max: 54 }), fc.constantFrom(...Array.from('abcXYZ019-_')), (at, letter) => {
        const key = newCredential('psk_', systemIds())
        const changed = key.slice(0, at) + letter + key.slice(at + 1)
        return changed === key || !isCredential(changed)
      }),
    )
  })
})

describe("others' orders cannot be told from none", () => {
  const asked: readonly (readonly [string, Caller, string])[] = [
    ['get_order by a session', 'session', GET],
    ['get_order by an account', 'seller', GET],
    ['get_order by the key of another order', 'order', GET],
    ['cancel', 'seller', 'mutation ($id: String!) { market { order { cancel(input: { order_id: $id }) { success } } } }'],
    [
      'reject',
      'seller',
      'mutation ($id: String!) { market { order { seller { reject(input: { order_id: $id }) { success } } } } }',
    ],
    [
      'accept',
      'seller',
      'mutation ($id: String!) { market { order { seller { accept(input: { order_id: $id, request: "x" }) { success } } } } }',
    ],
    [
      'add_transaction',
      'seller',
      `mutation ($id: String!) { market { order { seller { add_transaction(input: { order_id: $id, transaction: "${'ab'.repeat(32)}:0" }) { success } } } } }`,
    ],
  ]
  test.each(asked)('%s', async (_, caller, query) => {
    const answer = (id: string) => graphql(market.product.url, query, { id }, keyOf(caller))
    const [unknown, others] = [await answer(UNKNOWN), await answer(foreign(caller))]
    assert.deepEqual(others, unknown)
    assert.equal(others.errors?.[0]?.message, 'Order not found')
  })

  test('LSPS1 tells nothing of orders that were bought elsewhere', async () => {
    const answer = async (id: string) =>
      (await fetch(`${market.product.url}/api/lsp/v1/cheapest/get_order?order_id=${id}`)).text()
    assert.equal(await answer(callers.bought.session.id), await answer(UNKNOWN))
  })
})

describe('how long an answer takes tells nothing', () => {
  const unknown = (): string => newCredential('psk_', systemIds())
  const asks = (token: string, id = UNKNOWN) => graphql(market.product.url, GET, { id }, token)
  const lsps = async (id: string) => (await fetch(`${market.product.url}/api/lsp/v1/cheapest/get_order?order_id=${id}`)).text()

  let revoked = ''
  beforeAll(async () => {
    const { url } = market.product
    const token = keyOf('dashboard')
    const made = 'mutation { account { create_api_key(input: { name: "old" }) { id key } } }'
    const { id, key } = await one<{ id: string; key: string }>(url, made, token)
    await one(url, `mutation { account { revoke_api_key(id: "${id}") { id active } } }`, token)
    revoked = key
  })

  type Ask = () => Promise<unknown>
  /** `least`: how much quicker the second may be. */
  type Pair = { readonly what: string; readonly first: Ask; readonly second: Ask; readonly least?: number }
  const pairs: readonly Pair[] = [
    {
      what: 'an order of nobody and one of somebody else',
      first: () => asks(keyOf('session')),
      second: () => asks(keyOf('session'), foreign('session')),
    },
    {
      what: 'an order of nobody and one that was bought elsewhere, by LSPS1',
      first: () => lsps(UNKNOWN),
      second: () => lsps(callers.bought.session.id),
    },
    {
      what: 'a credential that never was and one that was revoked',
      first: () => asks(unknown()),
      second: () => asks(revoked),
    },
    {
      what: 'a credential that never was and one with a wrong check sum',
      first: () => asks(unknown()),
      second: () => asks(unknown().replace(/.{8}$/, '0'.repeat(8))),
      // Nothing is looked up for it. Whoever made it up knows whether its sum is right, so that this tells nothing.
      least: ALIKE.least / 2,
    },
  ]

  test.each(pairs)('$what', { timeout: 120_000 }, async ({ what, first, second, least = ALIKE.least }) => {
    assert.deepEqual(await second(), await first())
    const ratio = await ratioOf(ROUNDS, first, second)
    console.log(`${what}: ${ratio.toFixed(3)} times as long`)
    assert.ok(ratio > least && ratio < ALIKE.most, `${ratio}`)
  })

  test('an answer that takes twice as long would be noticed', { timeout: 120_000 }, async () => {
    const twice = async () => [await asks(revoked), await asks(revoked)]
    assert.ok((await ratioOf(ROUNDS, () => asks(revoked), twice)) > ALIKE.most)
  })
})

/** Nobody can measure over HTTP where two of 43 letters differ, so it is looked at what would tell. */
describe('where a secret differs tells nothing', () => {
  test('pages and credentials are looked up by what was made of them: what is kept holds none', () => {
    const { session, order } = callers.bought
    const secrets = [session, order].flatMap(({ key, page }) => [key, body(page)])
    const holding = (text: string) => filesIn(market.product.dataDir).filter((file) => readFileSync(file).includes(text))
    for (const secret of secrets) assert.deepEqual(holding(secret), [])
    for (const { page } of [session, order]) assert.ok(holding(pageHash(body(page))).some((file) => file.includes('views.db')))
  })
})

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
