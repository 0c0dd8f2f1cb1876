import { expect, test } from 'vitest'
import { createFakeTransport } from '../market/fake-transport.fixture.ts'
import { runChecks } from './checks.ts'
import { openHttpClient } from '../market/http-client.ts'
import { openDrain } from './drain.ts'
import { collectPostRunData } from './post-run-data.ts'
import { openLoadMarket } from '../market/load-market.ts'
import type { LoadOrder } from '../orders/load-order.ts'
import { RequestError, UNSENT } from '../market/request-error.ts'
import { createVirtualRun } from '../virtual-run.fixture.ts'

const HOUR_MS = 3_600_000
const REPORT = { status: 'WAITING_FOR_CHANNEL_OPEN', ledger: [] }
const BALANCES = { nodes: [], in_flight_msat: '0', total_msat: '0' }
const ANSWERS: readonly (readonly [path: RegExp, answer: object])[] = [
  [/graphql/, { data: { user: { market: { orders: { get_order: { status: 'WAITING_FOR_CHANNEL_OPEN' } } } } } }],
  [/payments/, { state: 'IN_FLIGHT' }],
  [/balances/, BALANCES],
  [/mine/, { height: 200 }],
  [/parked/, []],
  [/audit/, { streams: 1, events: 1, divergences: 0, ledger_balanced: true, first: null, log: { unproven: null } }],
]

const order = (n: number): LoadOrder => ({
  id: `order-${n}`,
  kind: 'buy',
  bearer: 'key',
  lspType: null,
  invoice: 'lnbcrt50u1x',
  status: 'WAITING_FOR_CHANNEL_OPEN',
  timeout: null,
  stage: 'held',
  paid: { hash: `hash-${n}`, amountMsat: 5_000_000n },
  isPaymentUncertain: false,
})

/**
 * Fixture: the end of a run with 20 orders in virtual time, in which each request has a timeout of an hour.
 * @param isIgnored whether the server never answers the request
 * @param lastHeight the last height of the payments, which are cancelled at the first mined block
 */
function prepareDrain(
  isIgnored: (path: string, body: string) => boolean,
  { withinMs: limitMs = HOUR_MS, lastHeight = 300 }: { readonly withinMs?: number; readonly lastHeight?: number } = {},
) {
  const paths: string[] = []
  const transport = createFakeTransport(({ path, body }) => {
    paths.push(path)
    if (isIgnored(path, JSON.stringify(body ?? {}))) return undefined
    const status = paths.some((earlier) => earlier.endsWith('/mine')) ? 'cancelled' : 'held'
    const answers = [[/orders/, { ...REPORT, hold: { status, expiry_height: lastHeight + 24 } }] as const, ...ANSWERS]
    return answers.find(([pattern]) => pattern.test(path))?.[1]
  })
  const time = createVirtualRun()
  const interrupt = new AbortController()
  const drain = openDrain(interrupt.signal, time.clock)
  const client = openHttpClient(
    { url: new URL('http://a.example'), addresses: [] },
    { timeoutMs: HOUR_MS, signal: drain.signal, clock: time.clock, openTransport: () => transport },
  )
  const market = openLoadMarket({ loadClient: client, controlClient: client, token: 'token' })
  const simulation = market.operator && { operator: market.operator, sellers: [], spare: null, marketAlias: 'market' }
  drain.startLoad()
  const run = () => {
    drain.startChecks(limitMs, (timeoutMs) => client.send('POST', '/graphql', { body: { query: '{ __typename }' }, timeoutMs }))
    const collecting = collectPostRunData(market, {
      targets: { buyers: [], simulation },
      orders: Array.from({ length: 20 }, (_, n) => order(n)),
      before: BALANCES,
      endedBy: 'drain limit',
      isUnfinishedAllowed: true,
      due: { arrived: 20, shed: 0, held: 0, unasked: 0, unsent: 0, isShedAllowed: false },
      payoutWaitMs: 0,
      interrupt: interrupt.signal,
      drain,
      clock: time.clock,
    })
    return time.complete(collecting).finally(() => drain.stop())
  }
  return { run, interrupt }
}

const findOutcome = (data: Awaited<ReturnType<typeof collectPostRunData>>, check: string) =>
  runChecks(data).find(({ name }) => name === check)?.outcome
const ANSWERED_CHECK = 'Every request of the checks was answered'

test('the checks get all data from a market that answers', async () => {
  const { run } = prepareDrain(() => false)
  const data = await run()
  expect(data).toMatchObject({ missing: [], network: { height: 200 }, parked: [], audit: { streams: 1 } })
  expect(data.reports?.size).toBe(20)
  expect(findOutcome(data, ANSWERED_CHECK)).toBe('pass')
})

test('a report is read until its payment is cancelled, if the block that the checks mine reaches its last height', async () => {
  const { run } = prepareDrain(() => false, { lastHeight: 200 })
  const data = await run()
  expect([...(data.reports?.values() ?? [])]).toContainEqual(
    expect.objectContaining({ hold: { status: 'cancelled', expiry_height: 224 } }),
  )
  expect(findOutcome(data, 'No payment is held past its height')).toBe('pass')
})

test('the drain stops if the market answers no request, and reports all data as missing', async () => {
  const { run } = prepareDrain(() => true)
  const { missing, ...data } = await run()
  expect(missing[0]).toBe('the final checks were stopped: the market did not answer 2 times in a row')
  expect(missing).toContain('order order-19: not answered')
  expect(missing).toContain('the report of order order-0: not answered')
  expect(missing).toContain('the audit: not answered')
  expect(findOutcome({ ...data, missing }, ANSWERED_CHECK)).toBe('fail')
})

test('the drain stops if the market hangs during the checks, and keeps the earlier answers', async () => {
  let isHanging = false
  const { run } = prepareDrain((path) => (isHanging ||= path.includes('audit')))
  const data = await run()
  expect(data.missing).toEqual([
    'the final checks were stopped: the market did not answer 2 times in a row',
    'the audit: not answered',
  ])
  expect(data.reports?.size).toBe(20)
})

test('the drain stops at its time limit if the market answers only some requests', async () => {
  const { run } = prepareDrain((_, body) => body.includes('get_order'), { withinMs: 300 })
  const { missing } = await run()
  expect(missing[0]).toBe('the final checks were stopped: they took longer than 0.3 s')
})

test('the drain stops after two unanswered requests in a row, and an answer resets the count', async () => {
  const drain = openDrain(new AbortController().signal)
  const late = () => Promise.reject(new RequestError('time-out', 'no answer came in time'))
  await expect(drain.call(late)).rejects.toThrow('no answer')
  await expect(drain.call(() => Promise.resolve(1))).resolves.toBe(1)
  await expect(drain.call(late)).rejects.toThrow('no answer')
  expect(drain.stopReason()).toBeNull()
  await expect(drain.call(late)).rejects.toThrow('no answer')
  expect(drain.stopReason()).toBe('the market did not answer 2 times in a row')
})

test('a request that finds no free connection counts as unanswered', async () => {
  const drain = openDrain(new AbortController().signal)
  const unsent = () => Promise.reject(new RequestError(UNSENT, 'none of the connections was free in time'))
  await expect(drain.call(unsent)).rejects.toThrow('none')
  await expect(drain.call(unsent)).rejects.toThrow('none')
  expect(drain.stopReason()).toBe('the market did not answer 2 times in a row')
})

test('Ctrl-C during the final checks stops them at once, and an earlier Ctrl-C shortens their time limit', async () => {
  const late = prepareDrain((_, body) => {
    late.interrupt.abort()
    return body.includes('get_order')
  })
  expect((await late.run()).missing[0]).toBe('the final checks were stopped: Ctrl-C ended them')
  const early = prepareDrain((_, body) => body.includes('get_order'))
  early.interrupt.abort()
  expect((await early.run()).missing[0]).toBe('the final checks were stopped: they took longer than 20.0 s')
})

test('Ctrl-C before the load stops the drain, and Ctrl-C during the load does not', () => {
  const [before, during] = [new AbortController(), new AbortController()]
  const [ended, running] = [openDrain(before.signal), openDrain(during.signal)]
  running.startLoad()
  for (const interrupt of [before, during]) interrupt.abort()
  expect([ended.stopReason(), running.stopReason()]).toEqual(['Ctrl-C ended them', null])
})
