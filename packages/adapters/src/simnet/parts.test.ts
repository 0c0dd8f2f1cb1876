import type { Htlc } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scratch, scratchSimnet } from './scratch.ts'
import { skipping } from './skipping.ts'

const AMOUNT_MSAT = 8_000_000n
const [HALF_MSAT, QUARTER_MSAT] = [AMOUNT_MSAT / 2n, AMOUNT_MSAT / 4n]
const MINUTE_MS = 60_000

let scratch: Scratch
let clock: ReturnType<typeof skipping>
beforeEach(() => {
  // Nothing wakes a sleeper but what the test puts the clock forward by.
  clock = skipping({
    now: () => 1_790_000_000_000,
    monotonicMs: () => 1_790_000_000_000,
    sleep: (_, signal) => untilAborted(signal),
  })
  scratch = scratchSimnet({ clock })
})
afterEach(() => scratch.drop())

const untilAborted = (signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) resolve()
    else signal?.addEventListener('abort', () => resolve(), { once: true })
  })

const control = () => scratch.simnet().control
/** As it stands in the tables: to ask the node would let it look at its clock. */
const htlcs = (): Htlc['state'][] =>
  scratch
    .simnet()
    .rows<{ state: Htlc['state'] }>('SELECT state FROM htlcs WHERE is_last = 1 ORDER BY id')
    .map(({ state }) => state)
const stateOf = (hash: string) => control().payment(hash)?.state

/** Lets time pass, and whoever was asleep do what he was asleep for. */
async function pass(ms: number): Promise<void> {
  clock.putForward(ms)
  await new Promise((resolve) => setImmediate(resolve))
}

const bill = (alias = 'market') => control().invoice(alias, AMOUNT_MSAT / 1000n, 3600)

const send = (invoice: string, amountMsat: bigint, from = 'buyer') =>
  control().pay(from, invoice, { amountMsat, totalMsat: AMOUNT_MSAT })

test('each part goes back two minutes after it came, and nobody has to ask', async () => {
  const before = control().balances().nodes
  const { invoice, payment_hash } = bill()
  send(invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  send(invoice, QUARTER_MSAT)
  await pass(MINUTE_MS - 1)
  expect(htlcs()).toEqual(['held', 'held'])
  await pass(1)
  expect(htlcs()).toEqual(['cancelled', 'held'])
  expect(stateOf(payment_hash)).toBe('IN_FLIGHT')
  await pass(MINUTE_MS)
  expect(htlcs()).toEqual(['cancelled', 'cancelled'])
  expect(stateOf(payment_hash)).toBe('FAILED')
  expect(control().balances().nodes).toEqual(before)
  expect(control().pay('buyer', invoice).state).toBe('SUCCEEDED')
})

test('over another node every hop of the part goes back, and those of others stay', async () => {
  const before = control().balances()
  const [one, other] = [bill('seller-ada'), bill('seller-ada')]
  send(one.invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  send(other.invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  expect([one, other].map(({ payment_hash }) => stateOf(payment_hash))).toEqual(['FAILED', 'IN_FLIGHT'])
  expect(control().balances().inFlightMsat).toBeGreaterThan(HALF_MSAT)
  await pass(MINUTE_MS)
  expect(control().balances()).toEqual(before)
})

test('who listens to the invoice hears of it', async () => {
  const { holds } = scratch.simnet().lightning('market')
  const { request, paymentHash } = await holds.create({
    paymentHash: 'ab'.repeat(32),
    amountMsat: AMOUNT_MSAT,
    cltvDelta: 80,
    expirySeconds: 3600,
    description: 'an order',
  })
  const stop = new AbortController()
  const changes = holds.changes(paymentHash, stop.signal)[Symbol.asyncIterator]()
  expect((await changes.next()).value).toMatchObject({ state: 'open', htlcs: [] })
  send(request, HALF_MSAT)
  expect((await changes.next()).value).toMatchObject({ state: 'open', htlcs: [{ state: 'held' }] })
  const next = changes.next()
  await pass(2 * MINUTE_MS)
  expect((await next).value).toMatchObject({ state: 'open', htlcs: [{ state: 'cancelled' }] })
  stop.abort()
})

test('one that went back has no say in when the whole, which came later, is given back', async () => {
  const { holds } = scratch.simnet().lightning('market')
  const asked = { paymentHash: 'ab'.repeat(32), amountMsat: AMOUNT_MSAT, cltvDelta: 144, expirySeconds: 3600, description: '' }
  const { request, paymentHash } = await holds.create(asked)
  send(request, HALF_MSAT)
  await pass(2 * MINUTE_MS)
  control().mine(24)
  expect(control().pay('buyer', request).state).toBe('IN_FLIGHT')
  const state = async () => (await holds.find(paymentHash))?.state
  const ends = (await holds.find(paymentHash))?.htlcs.map(({ expiryHeight }) => expiryHeight) ?? []
  const [first = 0, second = 0] = ends
  expect(second - first).toBe(24)
  const { height } = await scratch.simnet().chain().tip()
  control().mine(second - 12 - 1 - height)
  expect(await state()).toBe('held')
  control().mine(1)
  expect(await state()).toBe('cancelled')
})

test('a second part that finds no way leaves the first one what it is', async () => {
  const { invoice, payment_hash } = bill('seller-ada')
  send(invoice, HALF_MSAT)
  control().setOnline('seller-ada', false)
  expect(send(invoice, HALF_MSAT).state).toBe('FAILED')
  control().setOnline('seller-ada', true)
  expect([htlcs(), stateOf(payment_hash)]).toEqual([['held'], 'IN_FLIGHT'])
  expect(send(invoice, HALF_MSAT).state).toBe('SUCCEEDED')
})

test('it waits no longer for a restart of the network', async () => {
  const { invoice, payment_hash } = bill()
  send(invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  await scratch.reopen()
  await pass(MINUTE_MS - 1)
  expect(htlcs()).toEqual(['held'])
  await pass(1)
  expect([htlcs(), stateOf(payment_hash)]).toEqual([['cancelled'], 'FAILED'])
})

test('a node that was away at the time does it when it is back', async () => {
  const { invoice } = bill()
  send(invoice, HALF_MSAT)
  control().setOnline('market', false)
  await pass(3 * MINUTE_MS)
  expect(htlcs()).toEqual(['held'])
  control().setOnline('market', true)
  expect(htlcs()).toEqual(['cancelled'])
})
