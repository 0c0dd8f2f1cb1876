import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '@penstock/testkit/until.ts'
import { buy, buyerOf, graphql, order } from '../harness/buyer.ts'
import { attacks } from './attacks.ts'
import { REPEATED } from './bodies.ts'
import { campaign, type Outcome } from './campaign.ts'
import { cuts, type Known, wholes } from './cuts.ts'
import { shapeKinds } from './documents.ts'
import { DRIPPED } from './dripped.ts'
import { endOf, unexplained } from './facts.ts'
import { wayKinds } from './headers.ts'
import { booksOf, rewritten } from './keeping.ts'
import { type Market, openMarket } from './market.ts'
import { toldMemory } from './memory.ts'
import { takesBody } from './slow.ts'
import { valueKinds } from './values.ts'
import { exchange, wrongOnWire } from './wire.ts'

const RUNS = 6000
const CANCEL = 'mutation ($id: String!) { market { order { cancel(input: { order_id: $id }) { success } } } }'
const GOOD = 'GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
/** Its end is the market's: among a thousand others it may take a while to be let in. */
const good = (): Promise<string> => exchange(market, [GOOD], false, 30_000)
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)

let market: Market
let outcome: Outcome
let known: Known
beforeAll(async () => {
  market = await openMarket()
  outcome = await campaign(market, { runs: RUNS, seed })
  known = { operatorToken: market.operatorToken, buyerPubkey: (await buyerOf(market.product)).pubkey }
}, 600_000)
afterAll(async () => {
  await market.product.stop()
})

/** Nothing is given to them that could be wrong. */
const BARE: readonly string[] = ['query account.me', 'query market.liquidity.liquidity_per_usd']

describe('everything together', () => {
  test('leaves nothing behind that nobody asked for, and shows nothing of the inside', () => {
    const { shots, seconds, newFacts, slowestMs } = outcome
    console.log(
      `${shots} requests in ${seconds.toFixed(1)} s, ${newFacts} facts, slowest good request ${Math.round(slowestMs)} ms`,
    )
    console.log(toldMemory(outcome.memory))
    expect(outcome.faults, `again: npm run hostile -- --runs ${RUNS} --seed ${seed}`).toEqual([])
  })

  test('there are as many operations and methods of addresses as there should be', () => {
    assert.ok(outcome.wanted.filter((name) => /^(?:query|mutation) /.test(name)).length >= 27)
    assert.ok(outcome.wanted.filter((name) => !/^(?:query|mutation) /.test(name)).length >= 80)
  })

  test('what operators send is right now and then, and carried out', () => {
    const deeds = [...outcome.targets].filter(([name]) => /^POST \/operator\/(?:sim|sellers|views)/.test(name))
    assert.ok(deeds.length >= 9)
    assert.ok(deeds.filter(([, { carriedOut }]) => carriedOut > 0).length >= 3, JSON.stringify(deeds))
  })

  test('whatever takes a body was sent some without their end, at once and slowly, and some in pieces', async () => {
    const takers = outcome.wanted.filter((name) => takesBody({ name }))
    assert.ok(takers.length >= 40)
    for (const tried of [outcome.cut, outcome.slow, outcome.dripped])
      assert.deepEqual(
        takers.filter((name) => !tried.has(name)),
        [],
      )
    assert.ok(outcome.slowCallers > 3 * takers.length)
    assert.match(await good(), /^HTTP\/1\.1 200 /)
  })

  test('what comes in pieces is carried out where the last one comes in time', () => {
    const answered = [...outcome.dripped].flatMap(([name, { results }]) => (results > 0 ? [name] : []))
    assert.deepEqual(
      BARE.filter((name) => !answered.includes(name)),
      [],
    )
    for (const kind of [/^query /, /^(?:mutation|POST) /])
      assert.ok(answered.filter((name) => kind.test(name)).length >= 5, answered.join())
  })

  test('whatever there is to look at was asked for by some who did not read it', () => {
    const looks = outcome.wanted.filter((name) => /^(?:query|GET) /.test(name))
    assert.ok(looks.length >= 30)
    assert.deepEqual(
      looks.filter((name) => !outcome.unread.has(name)),
      [],
    )
  })

  test('every generator is used', () => {
    const wanted = [
      ...valueKinds,
      ...shapeKinds.map((shape) => `document: ${shape}`),
      ...wayKinds,
      'missing field',
      'unknown field',
      'repeated field',
      REPEATED,
      ...['String', 'Int', 'Boolean'].map((scalar) => `learned field: ${scalar}`),
      'nearly right',
      'value of another field',
      'odd header',
      'odd address',
      'odd query string',
      DRIPPED,
    ]
    assert.deepEqual(
      wanted.filter((kind) => !outcome.kinds.has(kind)),
      [],
    )
  })
})

describe('the look for changes', () => {
  test('notices one that no answer admits, also where the order was read', async () => {
    const { product } = market
    const { position } = await endOf(product.dataDir)
    const { id, key } = await buy(product)
    await order(product, { id, key })
    const unnoticed = (accepted: readonly string[]) =>
      unexplained(product.dataDir, position, new Map(accepted.map((one) => [one, 1])), { agents: outcome.agents, rejections: 0 })
    expect(await unnoticed([id])).toEqual([])
    expect((await unnoticed([])).join()).toContain(id)
    const { data } = await graphql<unknown>(product.url, CANCEL, { id }, key)
    expect(data).toMatchObject({ market: { order: { cancel: { success: true } } } })
    expect((await unnoticed([id])).join()).toContain('ReleaseRequested')
  })
})

describe('what is no good HTTP', () => {
  test('an answer that a path must not have would be noticed', () => {
    const answered = (body: string, status = '200 OK') =>
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${body}`
    const leaks = ['root:x:0:0:root:/root:/bin/sh', '[{"key":"a","reason":"b"}]', '{"status":"ok"}', ''].map((body) =>
      answered(body),
    )
    const paths = attacks.filter(({ name }) => name.startsWith('path '))
    assert.ok(paths.length > 15)
    for (const { name, wants } of paths)
      for (const leak of [...leaks, answered('root:x:0:0', '404 Not Found'), answered('', '404 Not Found')])
        assert.doesNotMatch(leak, wants, name)
    for (const { name, wants } of paths) if (!name.includes('?query=')) assert.doesNotMatch('', wants, name)
  })

  test.each(attacks)('$name', async ({ parts, hangUp = false, wants }) => {
    const text = await exchange(market, parts, hangUp)
    assert.equal(wrongOnWire(text), undefined, text.slice(0, 500))
    assert.match(text, wants)
    assert.match(await good(), /^HTTP\/1\.1 200 /)
  })

  test.each(cuts)('$name', async ({ make }) => {
    const { parts, hangUp = false, wants } = make(known)
    const text = await exchange(market, parts, hangUp)
    assert.equal(wrongOnWire(text), undefined, text.slice(0, 500))
    assert.match(text, wants)
  })

  test('leaves no facts, nothing in the books of the gateway, and no error in the log', async () => {
    const { dataDir, output } = market.product
    const { position } = await endOf(dataDir)
    const books = booksOf(dataDir)
    const tried = [...attacks, ...cuts.map(({ make }) => make(known))]
    await Promise.all(tried.map(({ parts, hangUp = false }) => exchange(market, parts, hangUp)))
    assert.deepEqual(await unexplained(dataDir, position, new Map(), { agents: outcome.agents, rejections: 0 }), [])
    assert.deepEqual(rewritten(books, booksOf(dataDir), Date.now()), [])
    assert.doesNotMatch(output(), /"level":(?:50|60)|Unhandled|uncaught/)
  })

  test.each(wholes)('$name is carried out where nothing of it is cut off', async ({ make }) => {
    const { dataDir } = market.product
    const { count } = await endOf(dataDir)
    const { parts, wants } = make(known)
    assert.match(await exchange(market, parts), wants)
    await until('it leaves a fact', async () => (await endOf(dataDir)).count > count)
  })
})

describe('connections', () => {
  test('a thousand at once keep nobody out, and leave no file open', async () => {
    const before = await market.inside()
    const idle = Array.from({ length: 1000 }, () => connect(market.port, market.host).on('error', () => undefined))
    const answers = await Promise.all(Array.from({ length: 100 }, good))
    assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')))
    for (const socket of idle) socket.destroy()
    await until('the connections are gone', async () => (await market.inside()).files <= before.files + 16, 20_000, 200)
  })

  test('streams of events that nobody reads give their places back', async () => {
    const { url } = market.product
    const { page } = await buy(market.product)
    const path = `${new URL(page).pathname}/events`
    const status = async () => {
      const ended = new AbortController()
      const response = await fetch(url + path, { signal: ended.signal })
      ended.abort()
      return response.status
    }
    const deaf = Array.from({ length: 30 }, () => connect(market.port, market.host).on('error', () => undefined))
    for (const socket of deaf) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await until('no place is left', async () => (await status()) === 429)
    for (const socket of deaf) socket.destroy()
    await until('there is one again', async () => (await status()) === 200)
  })
})
