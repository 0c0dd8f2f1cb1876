import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { buyChannel, findBuyer, sendGraphql, readOrder } from '../support/market-client.ts'
import { attacks } from './generators/attacks.ts'
import { REPEATED_FIELD } from './generators/bodies.ts'
import { runFuzzCampaign, type FuzzOutcome } from './campaign.ts'
import { truncatedExamples, type MarketKeys, completeExamples } from './generators/truncated-examples.ts'
import { documentShapeNames } from './generators/documents.ts'
import { SLOW_BODY } from './slow-body.ts'
import { readLogEnd, findUnexplainedFacts } from './checks/unexplained-facts.ts'
import { encodingKinds } from './generators/encodings.ts'
import { snapshotGatewayTables, diffGatewayTables } from './checks/state-snapshot.ts'
import { type FuzzMarket, startFuzzMarket } from './fuzz-market.ts'
import { formatMemory } from './checks/memory.ts'
import { hasRequestBody } from './slow-callers.ts'
import { valueKinds } from './generators/values.ts'
import { sendRaw, checkRawResponse } from './raw-connection.ts'

const RUNS = 6000
const CANCEL = 'mutation ($id: String!) { market { order { cancel(input: { order_id: $id }) { success } } } }'
const GOOD = 'GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
/** Sends a valid request, after which the market closes the connection. A thousand open connections may delay the answer. */
const sendGoodRequest = (): Promise<string> => sendRaw(market, [GOOD], false, 30_000)
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)

let market: FuzzMarket
let outcome: FuzzOutcome
let known: MarketKeys
beforeAll(async () => {
  console.log(`seed ${seed}`)
  market = await startFuzzMarket()
  outcome = await runFuzzCampaign(market, { runs: RUNS, seed })
  known = { operatorToken: market.operatorToken, buyerPubkey: (await findBuyer(market.product)).pubkey }
}, 600_000)
afterAll(async () => {
  await market.product.stop()
})

/** Operations without arguments, so their input is always valid. */
const BARE: readonly string[] = ['query account.me', 'query market.liquidity.liquidity_per_usd']

describe('the fuzz campaign', () => {
  test('finds no violation: no unexplained effect, and no internal word in an answer', () => {
    const { requestCount, seconds, newFacts, slowestMs } = outcome
    console.log(
      `${requestCount} requests in ${seconds.toFixed(1)} s, ${newFacts} facts, slowest good request ${Math.round(slowestMs)} ms`,
    )
    console.log(formatMemory(outcome.memory))
    expect(outcome.violations, `to repeat: npm run proof -- hostile --runs ${RUNS} --seed ${seed}`).toEqual([])
  })

  test('covers all operations, and all methods of all addresses', () => {
    assert.ok(outcome.targetNames.filter((name) => /^(?:query|mutation) /.test(name)).length >= 27)
    assert.ok(outcome.targetNames.filter((name) => !/^(?:query|mutation) /.test(name)).length >= 80)
  })

  test('carries out at least three kinds of operator actions', () => {
    const operatorActions = [...outcome.targets].filter(([name]) => /^POST \/operator\/(?:sim|sellers|views)/.test(name))
    assert.ok(operatorActions.length >= 9)
    assert.ok(operatorActions.filter(([, { carriedOut }]) => carriedOut > 0).length >= 3, JSON.stringify(operatorActions))
  })

  test('sends truncated, unfinished and slow bodies to every target that takes a body', async () => {
    const bodyTargets = outcome.targetNames.filter((name) => hasRequestBody({ name }))
    assert.ok(bodyTargets.length >= 40)
    for (const triedTargets of [outcome.truncatedTargets, outcome.slowTargets, outcome.slowBodies])
      assert.deepEqual(
        bodyTargets.filter((name) => !triedTargets.has(name)),
        [],
      )
    assert.ok(outcome.slowCallers > 3 * bodyTargets.length)
    assert.match(await sendGoodRequest(), /^HTTP\/1\.1 200 /)
  })

  test('gets results for slow bodies that end within the time limit', () => {
    const isAnswered = [...outcome.slowBodies].flatMap(([name, { results }]) => (results > 0 ? [name] : []))
    assert.deepEqual(
      BARE.filter((name) => !isAnswered.includes(name)),
      [],
    )
    for (const kind of [/^query /, /^(?:mutation|POST) /])
      assert.ok(isAnswered.filter((name) => kind.test(name)).length >= 5, isAnswered.join())
  })

  test('sends requests to every readable target by callers that do not read the answer', () => {
    const reads = outcome.targetNames.filter((name) => /^(?:query|GET) /.test(name))
    assert.ok(reads.length >= 30)
    assert.deepEqual(
      reads.filter((name) => !outcome.unreadTargets.has(name)),
      [],
    )
  })

  test('uses every generator', () => {
    const expectedKinds = [
      ...valueKinds,
      ...documentShapeNames.map((shape) => `document: ${shape}`),
      ...encodingKinds,
      'missing field',
      'unknown field',
      'repeated field',
      REPEATED_FIELD,
      ...['String', 'Int', 'Boolean'].map((scalar) => `learned field: ${scalar}`),
      'nearly right',
      'value of another field',
      'odd header',
      'odd address',
      'odd query string',
      SLOW_BODY,
    ]
    assert.deepEqual(
      expectedKinds.filter((kind) => !outcome.kinds.has(kind)),
      [],
    )
  })
})

describe('the search for unexplained facts', () => {
  test('finds a change that no answer shows, even if the order was read', async () => {
    const { product } = market
    const { position } = await readLogEnd(product.dataDir)
    const { id, key } = await buyChannel(product)
    await readOrder(product, { id, key })
    const findUnexplained = (accepted: readonly string[]) =>
      findUnexplainedFacts(product.dataDir, position, new Map(accepted.map((one) => [one, 1])), {
        agentPubkeys: outcome.agentPubkeys,
        rejections: 0,
      })
    expect(await findUnexplained([id])).toEqual([])
    expect((await findUnexplained([])).join()).toContain(id)
    const { data } = await sendGraphql<unknown>(product.url, CANCEL, { id }, key)
    expect(data).toMatchObject({ market: { order: { cancel: { success: true } } } })
    expect((await findUnexplained([id])).join()).toContain('ReleaseRequested')
  })
})

describe('malformed HTTP', () => {
  test('is checked by patterns that match no answer with leaked data', () => {
    const isAnswered = (body: string, status = '200 OK') =>
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${body}`
    const leaks = ['root:x:0:0:root:/root:/bin/sh', '[{"key":"a","reason":"b"}]', '{"status":"ok"}', ''].map((body) =>
      isAnswered(body),
    )
    const paths = attacks.filter(({ name }) => name.startsWith('path '))
    assert.ok(paths.length > 15)
    for (const { name, expected } of paths)
      for (const leak of [...leaks, isAnswered('root:x:0:0', '404 Not Found'), isAnswered('', '404 Not Found')])
        assert.doesNotMatch(leak, expected, name)
    for (const { name, expected } of paths) if (!name.includes('?query=')) assert.doesNotMatch('', expected, name)
  })

  test.each(attacks)('gets the expected answer: $name', async ({ parts, hangUp = false, expected }) => {
    const text = await sendRaw(market, parts, hangUp)
    assert.equal(checkRawResponse(text), undefined, text.slice(0, 500))
    assert.match(text, expected)
    assert.match(await sendGoodRequest(), /^HTTP\/1\.1 200 /)
  })

  test.each(truncatedExamples)('is not carried out: $name', async ({ make }) => {
    const { parts, hangUp = false, expected } = make(known)
    const text = await sendRaw(market, parts, hangUp)
    assert.equal(checkRawResponse(text), undefined, text.slice(0, 500))
    assert.match(text, expected)
  })

  test("leaves no facts, no rows in the gateway's tables, and no error in the log", async () => {
    const { dataDir, output } = market.product
    const { position } = await readLogEnd(dataDir)
    const tablesBefore = snapshotGatewayTables(dataDir)
    const requests = [...attacks, ...truncatedExamples.map(({ make }) => make(known))]
    await Promise.all(requests.map(({ parts, hangUp = false }) => sendRaw(market, parts, hangUp)))
    assert.deepEqual(
      await findUnexplainedFacts(dataDir, position, new Map(), { agentPubkeys: outcome.agentPubkeys, rejections: 0 }),
      [],
    )
    assert.deepEqual(diffGatewayTables(tablesBefore, snapshotGatewayTables(dataDir), Date.now()), [])
    assert.doesNotMatch(output(), /"level":(?:50|60)|Unhandled|uncaught/)
  })

  test.each(completeExamples)('is carried out if it is not truncated: $name', async ({ make }) => {
    const { dataDir } = market.product
    const { count } = await readLogEnd(dataDir)
    const { parts, expected } = make(known)
    assert.match(await sendRaw(market, parts), expected)
    await waitUntil('a new fact', async () => (await readLogEnd(dataDir)).count > count)
  })
})

describe('connections', () => {
  test('do not block other callers while a thousand connections are idle, and leave no file open', async () => {
    const before = await market.readProcess()
    const idle = Array.from({ length: 1000 }, () => connect(market.port, market.host).on('error', () => undefined))
    const answers = await Promise.all(Array.from({ length: 100 }, sendGoodRequest))
    assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')))
    for (const socket of idle) socket.destroy()
    await waitUntil('the closed connections', async () => (await market.readProcess()).files <= before.files + 16, 20_000, 200)
  })

  test('of unread event streams no longer count against the limit after they close', async () => {
    const { url } = market.product
    const { page } = await buyChannel(market.product)
    const path = `${new URL(page).pathname}/events`
    const status = async () => {
      const ended = new AbortController()
      const response = await fetch(url + path, { signal: ended.signal })
      ended.abort()
      return response.status
    }
    const unreadStreams = Array.from({ length: 30 }, () => connect(market.port, market.host).on('error', () => undefined))
    for (const socket of unreadStreams) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await waitUntil('the limit of event streams', async () => (await status()) === 429)
    for (const socket of unreadStreams) socket.destroy()
    await waitUntil('a free place for an event stream', async () => (await status()) === 200)
  })
})
