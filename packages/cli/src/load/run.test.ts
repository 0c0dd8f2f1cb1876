import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { targetOf } from './address.ts'
import { CONNECTIONS } from './client.ts'
import type { Latency, Step } from './meter.ts'
import { failuresOf } from './outcome.ts'
import { notesOf } from './notes.ts'
import { runLoad } from './run.ts'
import type { Settings } from './settings.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

const HOST = 'http://a.example'
const PRICE = { market: { liquidity: { liquidity_per_usd: { sats: '1' } } } }
const LOOK = { user: { market: { orders: { get_order: { status: 'WAITING_FOR_BUYER_PAYMENT' } } } } }
const bought = (id: number) => ({
  account: { session_key: 'key' },
  order: { transaction_id: `order-${id}` },
  payment: { lightning_invoice: 'lnbcrt50u1x', redirect_url: `${HOST}/order` },
})

/** A market that answers all but what is bought at once. @param buying resolves when the nth purchase is to be answered */
async function selling(buying: (nth: number) => Promise<unknown>) {
  let buys = 0
  const answer = async (body: string): Promise<object> => {
    if (body.includes('liquidity_per_usd')) return PRICE
    if (body.includes('get_order')) return LOOK
    if (!body.includes('buy(')) return {}
    const nth = ++buys
    await buying(nth)
    return { liquidity: { buy: bought(nth) } }
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => void answer(body).then((data) => response.end(JSON.stringify({ data }))))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { target: await targetOf(`http://127.0.0.1:${port}`, false), buys: () => buys }
}

const settings: Settings = {
  orders: 40,
  ratePerSecond: 200,
  arrivals: 'constant',
  mix: [{ word: 'abandon', percent: 100 }],
  seed: 1,
  durationMs: 60_000,
  privatePercent: 0,
  maxInFlight: 10_000,
  drainMs: 60_000,
  timeoutMs: 30_000,
  pollMs: 1000,
  to: [`02${'ab'.repeat(32)}@a.example:9735`],
  sellers: null,
  allowErrors: 0,
  allowUnfinished: false,
  allowShed: false,
}
const rest = { token: undefined, interrupt: new AbortController().signal, progress: () => undefined }
const of = (latencies: readonly Latency[], wanted: Step) => latencies.find(({ step }) => step === wanted)

test('a market that lets some wait for ever is as slow as that, also where the errors are allowed', async () => {
  const { target } = await selling((nth) => (nth % 10 === 0 ? new Promise(() => undefined) : Promise.resolve()))
  const outcome = await runLoad({ ...rest, target, settings: { ...settings, timeoutMs: 500, allowErrors: 4 } })
  expect(failuresOf(outcome)).toEqual([])
  expect(outcome.counts).toMatchObject({ arrived: 40, placed: 36, errors: 4, unsent: 0 })
  const invoice = of(outcome.latencies, 'invoice (buy)')
  expect(invoice).toMatchObject({ count: 40, timedOut: 4, missing: 0 })
  expect(invoice?.p99Ms).toBeGreaterThanOrEqual(499)
  expect(notesOf(outcome)).toContainEqual(expect.stringMatching(/^No answer came in time, .*: invoice \(buy\) 4\.$/))
})

test('what waits for a connection of this program is told from what the market keeps waiting', async () => {
  const orders = CONNECTIONS + 100
  const full = Promise.withResolvers<void>()
  const { target } = await selling((nth) => {
    if (nth === CONNECTIONS) void pause(600).then(full.resolve)
    return full.promise
  })
  const outcome = await runLoad({ ...rest, target, settings: { ...settings, orders, ratePerSecond: 1000 } })
  expect(failuresOf(outcome)).toEqual([])
  const [invoice, wait] = [of(outcome.latencies, 'invoice (buy)'), of(outcome.latencies, 'socket wait')]
  expect(invoice).toMatchObject({ count: orders, timedOut: 0, unsent: 0, missing: 0 })
  // The last hundred were due before the first were answered.
  expect(wait?.maxMs).toBeGreaterThan(400)
  expect(invoice?.maxMs).toBeGreaterThan(wait?.maxMs ?? Infinity)
  expect(of(outcome.latencies, 'start lag')?.p50Ms).toBeLessThan(wait?.maxMs ?? 0)
  expect(notesOf(outcome)).toContainEqual(expect.stringMatching(/^Requests waited for one of this program's 256 connections/))
})

test('a request that never left is no time-out, and fails the run as what was not sent', async () => {
  const { target, buys } = await selling(() => new Promise(() => undefined))
  // Two rounds of time-outs hold every connection longer than those who come last have patience.
  const pace = { orders: 2 * CONNECTIONS + 60, ratePerSecond: 1000, timeoutMs: 1500, allowErrors: 1000 }
  const outcome = await runLoad({ ...rest, target, settings: { ...settings, ...pace } })
  const { unsent, requests } = outcome.counts
  expect(unsent).toBeGreaterThan(0)
  expect({ bought: buys(), requests }).toEqual({ bought: pace.orders - unsent, requests: pace.orders - unsent })
  expect(of(outcome.latencies, 'invoice (buy)')).toMatchObject({ count: pace.orders, timedOut: buys(), unsent, missing: 0 })
  expect(failuresOf(outcome)).toContainEqual(
    expect.stringMatching(new RegExp(`^"All that was due was sent" fails: ${unsent} requests never left`)),
  )
})
