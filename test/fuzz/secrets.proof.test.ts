import { systemIds } from '@penstock/adapters/system/ids.ts'
import { deriveCheckoutToken, isCredential, newCredential } from '@penstock/credentials/credentials.ts'
import fc from 'fast-check'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { hashPageToken } from '@penstock/gateway/pages/page-url.ts'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { sendGraphql } from '../support/market-client.ts'
import { makeTempFolder } from '../support/product.ts'
import { type FuzzCallers, runOperation, createCallers } from './callers.ts'
import { type FuzzMarket, startFuzzMarket } from './fuzz-market.ts'
import { type FuzzCaller, sendRequest } from './request.ts'
import { SIMILAR_RATIO, measureRatioWithin } from './checks/timing.ts'

const GET = 'query ($id: String!) { user { market { orders { get_order(order_id: $id) { id status } } } } }'
const NOT_CONFIGURED = { operatorToken: '', operatorTokenFile: '' }
const UNKNOWN = '01a1f000-0000-7000-8000-000000000000'
/** Rounds of two alternating requests in each batch. */
const ROUNDS = 40
const pageTokenOf = (page: string): string => page.slice(page.lastIndexOf('/') + 1)

let market: FuzzMarket
let callers: FuzzCallers
beforeAll(async () => {
  market = await startFuzzMarket()
  callers = await createCallers(market)
}, 120_000)
afterAll(async () => {
  await callers.owners.close()
  await market.product.stop()
})

/** Asserts that each of the bits is set in about half of all secrets; a constant bit would be far off. */
function assertRandom(secrets: readonly Uint8Array[], bits: number): void {
  assert.equal(new Set(secrets.map((secret) => Buffer.from(secret).toString('hex'))).size, secrets.length)
  for (let bit = 0; bit < bits; bit++) {
    const set = secrets.filter((secret) => ((secret[bit >> 3] ?? 0) >> (bit & 7)) & 1).length
    // Seven standard deviations, so random bits practically never fail.
    assert.ok(
      Math.abs(set / secrets.length - 0.5) < 3.5 / Math.sqrt(secrets.length),
      `bit ${bit} is set in ${set} of ${secrets.length}`,
    )
  }
}

describe('a secret cannot be guessed', () => {
  const ids = systemIds()
  const COUNT = 20_000

  test('keys and tokens of callers have 256 random bits', () => {
    for (const prefix of ['psk_', 'pok_', 'pdt_', 'pak_'] as const)
      assertRandom(
        Array.from({ length: COUNT / 4 }, () => Buffer.from(newCredential(prefix, ids).slice(4, 47), 'base64url')),
        256,
      )
  })

  test('addresses of pages have 256 bits that reveal nothing about the order', () => {
    const pepper = ids.random(32)
    assertRandom(
      Array.from({ length: COUNT / 4 }, () => Buffer.from(deriveCheckoutToken(pepper, ids.uuid()), 'base64url')),
      256,
    )
  })

  test('ids of orders are all different, with 62 random bits in addition to their timestamp', () => {
    const made = Array.from({ length: COUNT }, () => Buffer.from(ids.uuid().replaceAll('-', ''), 'hex'))
    assertRandom(
      // The upper two bits of byte 8 are the variant of the id (RFC 9562), so this byte is moved to the end.
      made.map((id) => Buffer.concat([id.subarray(9), id.subarray(8, 9)])),
      62,
    )
  })

  test("the operator's token has 256 bits", () => {
    assert.match(market.operatorToken, /^[\w-]{43}$/)
    const made = Array.from({ length: 1000 }, () => resolveOperatorToken(openDataDir(makeTempFolder()), NOT_CONFIGURED, ids))
    assertRandom(
      [...made, market.operatorToken].map((token) => Buffer.from(token, 'base64url')),
      256,
    )
  })
})

/** Returns a credential with the prefix of another kind, and a valid checksum. */
const relabelCredential = (credential: string, prefix: string): string => {
  const text = prefix + credential.slice(4, 47)
  return text + crc32(text).toString(16).padStart(8, '0')
}
/** Returns the id of another caller's order. */
const getForeignOrderId = (caller: FuzzCaller): string =>
  caller === 'session' ? callers.boughtOrders.order.id : callers.boughtOrders.session.id
const keyOf = (caller: FuzzCaller): string => callers.authorization(caller)?.slice(7) ?? assert.fail()

describe('kinds of credentials are never confused', () => {
  test('a changed credential opens nothing', async () => {
    const kinds: readonly FuzzCaller[] = ['session', 'order', 'dashboard', 'api', 'seller', 'operator']
    const changes: readonly ((key: string) => string)[] = [
      ...['psk_', 'pok_', 'pdt_', 'pak_'].map(
        (prefix) => (key: string) => (key.startsWith(prefix) ? 'x' : relabelCredential(key, prefix)),
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
        const graph = await sendRequest(market, shot, `Bearer ${change(keyOf(kind))}`)
        assert.match(graph.text, /"code":"UNAUTHENTICATED"/, `${kind} ${change.toString()}`)
        const operator = await sendRequest(
          market,
          { ...shot, method: 'GET', path: '/operator/parked', body: undefined },
          `Bearer ${change(keyOf(kind))}`,
        )
        assert.equal(operator.status, 401, `${kind} ${change.toString()}`)
      }
  })

  test('a credential of one kind does not open routes of another kind', async () => {
    const status = async (key: string) =>
      (await fetch(`${market.product.url}/operator/parked`, { headers: { authorization: `Bearer ${key}` } })).status
    for (const kind of ['session', 'order', 'dashboard', 'api', 'seller'] as const) assert.equal(await status(keyOf(kind)), 401)
    const [{ errors }] = [await sendGraphql(market.product.url, GET, { id: callers.boughtOrders.order.id }, market.operatorToken)]
    assert.equal(errors?.[0]?.message, 'Unauthorized token')
    const { session, order } = callers.boughtOrders
    const pages = [
      session.key,
      order.key,
      session.id,
      order.id,
      pageTokenOf(session.page).toUpperCase(),
      `${pageTokenOf(session.page)}%20`,
      pageTokenOf(session.page).slice(0, -1),
      `${pageTokenOf(session.page)}=`,
    ]
    for (const kind of ['checkout', 'orders'])
      for (const token of pages) assert.equal((await fetch(`${market.product.url}/${kind}/${token}`)).status, 404, token)
    // A page shows the order of its token, and ignores ids in the query string.
    const text = await (
      await fetch(`${market.product.url}/orders/${pageTokenOf(session.page)}?order_id=${order.id}&id=${order.id}`)
    ).text()
    assert.ok(!text.includes(order.id) && !text.includes(pageTokenOf(order.page)))
  })

  test('one changed letter makes a credential invalid', () => {
    fc.assert(
      fc.property(fc.nat({ max: 54 }), fc.constantFrom(...Array.from('abcXYZ019-_')), (at, letter) => {
        const key = newCredential('psk_', systemIds())
        const changed = key.slice(0, at) + letter + key.slice(at + 1)
        return changed === key || !isCredential(changed)
      }),
    )
  })
})

describe('an order of another caller looks like an unknown order', () => {
  const requests: readonly (readonly [string, FuzzCaller, string])[] = [
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
  test.each(requests)('%s', async (_, caller, query) => {
    const answer = (id: string) => sendGraphql(market.product.url, query, { id }, keyOf(caller))
    const [unknown, others] = [await answer(UNKNOWN), await answer(getForeignOrderId(caller))]
    assert.deepEqual(others, unknown)
    assert.equal(others.errors?.[0]?.message, 'Order not found')
  })

  test('for LSPS1, if it was bought through another API', async () => {
    const answer = async (id: string) =>
      (await fetch(`${market.product.url}/api/lsp/v1/cheapest/get_order?order_id=${id}`)).text()
    assert.equal(await answer(callers.boughtOrders.session.id), await answer(UNKNOWN))
  })
})

describe('the time of an answer', () => {
  const unknown = (): string => newCredential('psk_', systemIds())
  const queryOrder = (token: string, id = UNKNOWN) => sendGraphql(market.product.url, GET, { id }, token)
  const readLspOrder = async (id: string) =>
    (await fetch(`${market.product.url}/api/lsp/v1/cheapest/get_order?order_id=${id}`)).text()

  let revoked = ''
  beforeAll(async () => {
    const { url } = market.product
    const token = keyOf('dashboard')
    const made = 'mutation { account { create_api_key(input: { name: "old" }) { id key } } }'
    const { id, key } = await runOperation<{ id: string; key: string }>(url, made, token)
    await runOperation(url, `mutation { account { revoke_api_key(id: "${id}") { id active } } }`, token)
    revoked = key
  })

  type TimedRequest = () => Promise<unknown>
  /** `least` is the minimum ratio of the second time to the first. */
  type Pair = { readonly what: string; readonly first: TimedRequest; readonly second: TimedRequest; readonly least?: number }
  const pairs: readonly Pair[] = [
    {
      what: 'an unknown order and an order of another caller',
      first: () => queryOrder(keyOf('session')),
      second: () => queryOrder(keyOf('session'), getForeignOrderId('session')),
    },
    {
      what: 'an unknown order and one that was bought by another API, by LSPS1',
      first: () => readLspOrder(UNKNOWN),
      second: () => readLspOrder(callers.boughtOrders.session.id),
    },
    {
      what: 'an unknown credential and a revoked one',
      first: () => queryOrder(unknown()),
      second: () => queryOrder(revoked),
    },
    {
      what: 'an unknown credential and one with a wrong checksum',
      first: () => queryOrder(unknown()),
      second: () => queryOrder(unknown().replace(/.{8}$/, '0'.repeat(8))),
      // A wrong checksum causes no look-up and is answered faster. Callers can compute the checksum, so this reveals nothing.
      least: SIMILAR_RATIO.min / 2,
    },
  ]

  test.each(pairs)('is the same for $what', { timeout: 120_000 }, async ({ what, first, second, least = SIMILAR_RATIO.min }) => {
    assert.deepEqual(await second(), await first())
    const ratio = await measureRatioWithin({ min: least, max: SIMILAR_RATIO.max }, ROUNDS, first, second)
    console.log(`${what}: ${ratio.toFixed(3)} times as long`)
    assert.ok(ratio > least && ratio < SIMILAR_RATIO.max, `${ratio}`)
  })

  test('is measured precisely enough to reveal a doubled time', { timeout: 120_000 }, async () => {
    const twice = async () => [await queryOrder(revoked), await queryOrder(revoked)]
    assert.ok((await measureRatioWithin(SIMILAR_RATIO, ROUNDS, () => queryOrder(revoked), twice)) > SIMILAR_RATIO.max)
  })
})

/** Times over HTTP are too imprecise to show which of 43 characters differs. So these tests check the stored values instead. */
describe('a look-up reveals nothing about a secret', () => {
  test('because stored files contain only hashes of page tokens and keys', () => {
    const { session, order } = callers.boughtOrders
    const secrets = [session, order].flatMap(({ key, page }) => [key, pageTokenOf(page)])
    const findFilesWith = (text: string) => filesIn(market.product.dataDir).filter((file) => readFileSync(file).includes(text))
    for (const secret of secrets) assert.deepEqual(findFilesWith(secret), [])
    for (const { page } of [session, order])
      assert.ok(findFilesWith(hashPageToken(pageTokenOf(page))).some((file) => file.includes('views.db')))
  })
})

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
