import { createServer, type IncomingMessage, type Server } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { targetOf } from './address.ts'
import { allChecks } from './checks.ts'
import { type Client, openClient } from './client.ts'
import { type Closing, openClosing } from './closing.ts'
import { gather } from './evidence.ts'
import { openMarket } from './market.ts'
import type { LoadOrder } from './order.ts'
import { Trouble, UNSENT } from './trouble.ts'

const HOUR_MS = 3_600_000
const TIMES = { beatMs: 20, answerMs: 500, hurriedMs: 100 }

const open: { server: Server; client: Client; closing: Closing }[] = []
afterEach(async () => {
  for (const { server, client, closing } of open.splice(0)) {
    closing.end()
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

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
  isPaymentUnsure: false,
})

/**
 * The end of a run of some orders, of which each question has an hour.
 * @param hangsAt what is never answered
 * @param lastHeight of payments that are given back with the first block
 */
async function ending(
  hangsAt: (request: IncomingMessage, body: string) => boolean,
  { withinMs = HOUR_MS, lastHeight = 300 }: { readonly withinMs?: number; readonly lastHeight?: number } = {},
) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      asked.push(request.url ?? '')
      if (hangsAt(request, body)) return
      const hold = { status: asked.some((path) => path.endsWith('/mine')) ? 'cancelled' : 'held', expiry_height: lastHeight + 24 }
      const answers = [[/orders/, { ...REPORT, hold }] as const, ...ANSWERS]
      response.end(JSON.stringify(answers.find(([path]) => path.test(request.url ?? ''))?.[1]))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const interrupt = new AbortController()
  const closing = openClosing(interrupt.signal, TIMES)
  const client = openClient(await targetOf(`http://127.0.0.1:${port}`, false), { timeoutMs: HOUR_MS, signal: closing.signal })
  open.push({ server, client, closing })
  const market = openMarket({ front: client, back: client, token: 'token' })
  const simulation = market.operator && { operator: market.operator, sellers: [], spare: null, marketAlias: 'market' }
  closing.load()
  const run = () => {
    closing.begin(withinMs, (timeoutMs) => client.send('POST', '/graphql', { body: { query: '{ __typename }' }, timeoutMs }))
    return gather(market, {
      world: { buyers: [], simulation },
      orders: Array.from({ length: 20 }, (_, n) => order(n)),
      before: BALANCES,
      endedBy: 'drain limit',
      isUnfinishedAllowed: true,
      due: { arrived: 20, shed: 0, held: 0, unasked: 0, unsent: 0, isShedAllowed: false },
      patienceMs: 0,
      interrupt: interrupt.signal,
      closing,
    })
  }
  return { run, interrupt }
}

const outcomeOf = (evidence: Awaited<ReturnType<typeof gather>>, check: string) =>
  allChecks(evidence).find(({ name }) => name === check)?.outcome
const SEEN = 'All of it could be looked at'

test('a market that answers is looked at as a whole', async () => {
  const { run } = await ending(() => false)
  const evidence = await run()
  expect(evidence).toMatchObject({ missing: [], network: { height: 200 }, parked: [], audit: { streams: 1 } })
  expect(evidence.reports?.size).toBe(20)
  expect(outcomeOf(evidence, SEEN)).toBe('pass')
})

test('a payment whose last height comes with the block of the look itself is asked about until it has gone back', async () => {
  const { run } = await ending(() => false, { lastHeight: 200 })
  const evidence = await run()
  expect([...(evidence.reports?.values() ?? [])]).toContainEqual(
    expect.objectContaining({ hold: { status: 'cancelled', expiry_height: 224 } }),
  )
  expect(outcomeOf(evidence, 'No payment is held past its height')).toBe('pass')
})

test('one that takes every question and answers none is given up, and all of it is missing', async () => {
  const { run } = await ending(() => true)
  const { missing, ...evidence } = await run()
  expect(missing[0]).toBe('the closing look was given up: the market did not answer 2 times in a row')
  expect(missing).toContain('order order-19: not answered')
  expect(missing).toContain('the report of order order-0: not answered')
  expect(missing).toContain('the audit: not answered')
  expect(outcomeOf({ ...evidence, missing }, SEEN)).toBe('fail')
})

test('one that answers, and then hangs, is given up; what it said is kept', async () => {
  let isHanging = false
  const { run } = await ending(({ url = '' }) => (isHanging ||= url.includes('audit')))
  const evidence = await run()
  expect(evidence.missing).toEqual([
    'the closing look was given up: the market did not answer 2 times in a row',
    'the audit: not answered',
  ])
  expect(evidence.reports?.size).toBe(20)
})

test('one that hangs at some questions alone has a limit for all of them', async () => {
  const { run } = await ending((_, body) => body.includes('get_order'), { withinMs: 300 })
  const { missing } = await run()
  expect(missing[0]).toBe('the closing look was given up: it took longer than 0.3 s')
})

test('two questions in a row without an answer in time are the last, also where shorter ones are answered', async () => {
  const closing = openClosing(new AbortController().signal, TIMES)
  const late = () => Promise.reject(new Trouble('time-out', 'no answer came in time'))
  await expect(closing.ask(late)).rejects.toThrow('no answer')
  await expect(closing.ask(() => Promise.resolve(1))).resolves.toBe(1)
  await expect(closing.ask(late)).rejects.toThrow('no answer')
  expect(closing.why()).toBeNull()
  await expect(closing.ask(late)).rejects.toThrow('no answer')
  expect(closing.why()).toBe('the market did not answer 2 times in a row')
})

test('a question that finds every connection taken by others without an answer is not answered either', async () => {
  const closing = openClosing(new AbortController().signal, TIMES)
  const unsent = () => Promise.reject(new Trouble(UNSENT, 'none of the connections was free in time'))
  await expect(closing.ask(unsent)).rejects.toThrow('none')
  await expect(closing.ask(unsent)).rejects.toThrow('none')
  expect(closing.why()).toBe('the market did not answer 2 times in a row')
})

test('Ctrl-C ends the closing look at once, and hurries it when it ended the orders', async () => {
  const late = await ending((_, body) => {
    late.interrupt.abort()
    return body.includes('get_order')
  })
  expect((await late.run()).missing[0]).toBe('the closing look was given up: Ctrl-C ended it')
  const early = await ending((_, body) => body.includes('get_order'))
  early.interrupt.abort()
  expect((await early.run()).missing[0]).toBe('the closing look was given up: it took longer than 0.1 s')
})

test('before the orders come, Ctrl-C ends everything; while they come it ends only them', () => {
  const [before, during] = [new AbortController(), new AbortController()]
  const [ended, spared] = [openClosing(before.signal, TIMES), openClosing(during.signal, TIMES)]
  spared.load()
  for (const interrupt of [before, during]) interrupt.abort()
  expect([ended.why(), spared.why()]).toEqual(['Ctrl-C ended it', null])
})
