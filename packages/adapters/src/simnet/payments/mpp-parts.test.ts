import type { Htlc } from '@penstock/ports/lightning.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createManualTime } from '../manual-time.fixture.ts'
import { type TemporaryNetwork, openTemporaryNetwork } from '../temporary-network.ts'

const AMOUNT_MSAT = 8_000_000n
const [HALF_MSAT, QUARTER_MSAT] = [AMOUNT_MSAT / 2n, AMOUNT_MSAT / 4n]
const MINUTE_MS = 60_000

let network: TemporaryNetwork
let pass: (ms: number) => Promise<void>
beforeEach(() => {
  const time = createManualTime()
  pass = time.pass
  network = openTemporaryNetwork({ clock: time.clock })
})
afterEach(() => network.drop())

const control = () => network.simnet().control
/** Reads HTLC states from the tables, because a call to the node would also expire parts. */
const htlcs = (): Htlc['state'][] =>
  network
    .simnet()
    .rows<{ state: Htlc['state'] }>('SELECT state FROM htlcs WHERE is_last = 1 ORDER BY id')
    .map(({ state }) => state)
const stateOf = (hash: string) => control().payment(hash)?.state

const newInvoice = (alias = 'market') => control().invoice(alias, AMOUNT_MSAT / 1000n, 3600)

const send = (invoice: string, amountMsat: bigint, from = 'buyer') =>
  control().pay(from, invoice, { amountMsat, totalMsat: AMOUNT_MSAT })

test('each part is cancelled two minutes after its arrival without a call to the node', async () => {
  const before = control().balances().nodes
  const { invoice, payment_hash } = newInvoice()
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

test('every hop of an expired part over another node is cancelled, and the hops of other parts stay held', async () => {
  const before = control().balances()
  const [first, second] = [newInvoice('seller-ada'), newInvoice('seller-ada')]
  send(first.invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  send(second.invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  expect([first, second].map(({ payment_hash }) => stateOf(payment_hash))).toEqual(['FAILED', 'IN_FLIGHT'])
  expect(control().balances().inFlightMsat).toBeGreaterThan(HALF_MSAT)
  await pass(MINUTE_MS)
  expect(control().balances()).toEqual(before)
})

test('the changes of an invoice include the cancellation of a part', async () => {
  const { holds } = network.simnet().lightning('market')
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

test('a cancelled part does not affect the cancel height of a later full payment', async () => {
  const { holds } = network.simnet().lightning('market')
  const terms = { paymentHash: 'ab'.repeat(32), amountMsat: AMOUNT_MSAT, cltvDelta: 144, expirySeconds: 3600, description: '' }
  const { request, paymentHash } = await holds.create(terms)
  send(request, HALF_MSAT)
  await pass(2 * MINUTE_MS)
  control().mine(24)
  expect(control().pay('buyer', request).state).toBe('IN_FLIGHT')
  const state = async () => (await holds.find(paymentHash))?.state
  const ends = (await holds.find(paymentHash))?.htlcs.map(({ expiryHeight }) => expiryHeight) ?? []
  const [first = 0, second = 0] = ends
  expect(second - first).toBe(24)
  const { height } = await network.simnet().chain().tip()
  control().mine(second - 12 - 1 - height)
  expect(await state()).toBe('held')
  control().mine(1)
  expect(await state()).toBe('cancelled')
})

test('a second part without a route leaves the first part unchanged', async () => {
  const { invoice, payment_hash } = newInvoice('seller-ada')
  send(invoice, HALF_MSAT)
  control().setOnline('seller-ada', false)
  expect(send(invoice, HALF_MSAT).state).toBe('FAILED')
  control().setOnline('seller-ada', true)
  expect([htlcs(), stateOf(payment_hash)]).toEqual([['held'], 'IN_FLIGHT'])
  expect(send(invoice, HALF_MSAT).state).toBe('SUCCEEDED')
})

test('a restart of the network does not extend the timeout of a part', async () => {
  const { invoice, payment_hash } = newInvoice()
  send(invoice, HALF_MSAT)
  await pass(MINUTE_MS)
  await network.reopen()
  await pass(MINUTE_MS - 1)
  expect(htlcs()).toEqual(['held'])
  await pass(1)
  expect([htlcs(), stateOf(payment_hash)]).toEqual([['cancelled'], 'FAILED'])
})

test('a node that was offline at the timeout cancels the part on its return', async () => {
  const { invoice } = newInvoice()
  send(invoice, HALF_MSAT)
  control().setOnline('market', false)
  await pass(3 * MINUTE_MS)
  expect(htlcs()).toEqual(['held'])
  control().setOnline('market', true)
  expect(htlcs()).toEqual(['cancelled'])
})
