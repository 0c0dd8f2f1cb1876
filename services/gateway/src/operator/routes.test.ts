import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { memoryBus } from '@penstock/adapters/memory/bus.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import express from 'express'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { listen, type Listening } from '../listen.ts'
import type { StoredOrder } from '../read/orders.ts'
import type { HoldView } from '../views/hold-view.ts'
import { nothingOwed } from '../views/owed.ts'
import { operatorRoutes } from './routes.ts'
import type { Simulation } from './simulation.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const warned: object[] = []
const failures: object[] = []
const silent = (): void => undefined
const log: Log = {
  debug: silent,
  info: silent,
  warn: (fields) => warned.push(fields),
  error: (fields) => failures.push(fields),
  child: () => log,
}
/** An order whose seller waits for its payout. */
const PAID = '30000000-0000-4000-8000-000000000009'
const sellerKey = new Uint8Array(32).fill(3)
const waiting: { hold: Partial<HoldView> | undefined } = { hold: undefined }
const invoice = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: '0f'.repeat(32),
    amountMsat: 2_000_000n,
    paymentSecret: '22'.repeat(32),
    createdAt: 1_795_000_000_000,
    expirySeconds: 3600,
    cltvDelta: 40,
    description: 'payout',
  },
  sellerKey,
)
const nobody = () => Promise.resolve(undefined)

const asked: Ask[] = []
const invoiced: bigint[] = []
const simulation = {
  invoice: (_: string, sats: bigint) => {
    invoiced.push(sats)
    return { invoice: '', payment_hash: '' }
  },
} as unknown as Simulation // nothing else of it is asked for here

let server: Listening
let wrong: Error
beforeEach(async () => {
  for (const list of [warned, failures, asked, invoiced]) list.length = 0
  const app = express()
  const audit = { verify: () => Promise.reject(wrong), replay: nobody, export: nobody }
  const orderReport = async (id: string) => (id === ORDER ? { id } : undefined)
  app.use(
    '/operator',
    operatorRoutes({
      gauges: undefined,
      rebuildViews: async (names) => names.map((projection) => ({ projection, facts: 1 })),
      token: 'secret',
      log,
      clock: systemClock,
      bus: memoryBus(),
      orderReport,
      order: async (id) => (id === PAID ? ({ hold: waiting.hold } as unknown as StoredOrder) : undefined), // only what the routes read
      openPayouts: async (page) => ({ total: 0, payouts: [], page }),
      audit,
      command: async (one) => void asked.push(one),
      simulation,
    }),
  )
  server = await listen(app, { host: '127.0.0.1', port: 0 })
})
afterEach(() => server.close(0))

async function ask(path: string, body?: string, token = 'secret') {
  const response = await fetch(`http://127.0.0.1:${server.port}/operator${path}`, {
    ...(body !== undefined && { method: 'POST', body }),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  const { error } = (await response.json()) as { error?: string }
  assert.equal(response.headers.get('cache-control'), 'no-store')
  return { status: response.status, error }
}

test('a wrong token is logged with the address of the caller, and without the token', async () => {
  assert.equal((await ask('/parked', undefined, 'guess')).status, 401)
  assert.deepEqual(warned, [{ method: 'operator', code: 'wrong', ip: '127.0.0.1' }])
})

test('what a caller does wrong is told in a sentence, and is no warning', async () => {
  assert.equal((await ask(`/orders/${ORDER}`)).status, 200)
  const cases: readonly [number, RegExp, Promise<{ status: number; error?: string | undefined }>][] = [
    [400, /not valid JSON/, ask('/parked/replay', '{"all":')],
    [400, /malformed: the body/, ask('/parked/replay', '{"nothing": 1}')],
    [400, /escape that stands for no character/, ask('/orders/%E0%A4%A')],
    [400, /An order id is a UUID/, ask('/orders/nonsense')],
    [413, /too large/, ask('/parked/replay', JSON.stringify({ all: 'x'.repeat(70_000) }))],
    [404, /no order with this id/, ask('/orders/30000000-0000-4000-8000-00000000ffff')],
    [404, /no such operator route/, ask('/nowhere')],
  ]
  for (const [status, sentence, answer] of cases) {
    const { status: found, error } = await answer
    assert.deepEqual([found, sentence.test(error ?? '')], [status, true], error)
  }
  assert.deepEqual(warned, [])
})

test('what cannot be is told, and what did not answer is a warning', async () => {
  wrong = new Error('That is not possible.')
  assert.deepEqual(await ask('/audit/verify', '{}'), { status: 422, error: 'That is not possible.' })
  assert.deepEqual(warned, [])
  wrong = new Fault('the store is away')
  assert.equal((await ask('/audit/verify', '{}')).status, 503)
  assert.equal(warned.length, 1)
})

test('a mistake of the program is called one, and shows nothing of the inside', async () => {
  for (const mistake of [
    new TypeError('x is undefined'),
    new Bug('that cannot be'),
    Object.assign(new Error('SQL'), { code: 'E' }),
  ]) {
    wrong = mistake
    const answer = await ask('/audit/verify', '{}')
    assert.deepEqual(answer, { status: 500, error: 'Something is wrong inside of Penstock; its log says what.' })
  }
  assert.equal(failures.length, 3)
})

test('a sentence that repeats what was asked for has an end', async () => {
  wrong = new Error('z'.repeat(5000))
  assert.equal((await ask('/audit/verify', '{}')).error?.length, 500)
})

test('a grant is for the one seller, however its key is written', async () => {
  const pubkey = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
  for (const written of [pubkey, pubkey.toUpperCase()])
    assert.equal((await ask('/sellers/grant', JSON.stringify({ pubkey: written, reason: 'known' }))).status, 200)
  assert.deepEqual(
    asked.map(({ id }) => id),
    [pubkey, pubkey],
  )
})

test('the simulated network is asked for no more than there is', async () => {
  const invoice = (sats: string) => ask('/sim/invoice', JSON.stringify({ alias: 'ada', sats }))
  assert.equal((await invoice('2100000000000000')).status, 200)
  for (const sats of ['2100000000000001', '9999999999999999'])
    assert.deepEqual(await invoice(sats), { status: 400, error: 'The request is malformed: sats: more than all bitcoin.' })
  assert.deepEqual(invoiced, [2_100_000_000_000_000n])
})

test('an operator retries, decides and replaces a payout, with an author and a reason', async () => {
  const seller = pubkeyOf(sellerKey)
  waiting.hold = { owed: { ...nothingOwed, sellerPubkey: seller, amountMsat: '2000000' }, payout: null }
  const act = (verb: string, body: object) => ask(`/payouts/${PAID}/${verb}`, JSON.stringify(body))
  await act('retry', { reason: 'the channel is back' })
  await act('decide', { to: 'buyer', by: 'ada', reason: 'the probe was forged' })
  await act('replace', { request: invoice })
  await act('refund', { request: invoice })
  assert.deepEqual(
    asked.map(({ category, id, command }) => [category, id, command.type]),
    ['RetryPayoutNow', 'DecidePayout', 'GivePayoutInvoice', 'GiveRefundInvoice'].map((type) => ['settlement', PAID, type]),
  )
  assert.deepEqual(asked[0]?.command.data, { by: 'operator', reason: 'the channel is back' })
  assert.deepEqual(asked[1]?.command.data, { to: 'buyer', by: 'ada', reason: 'the probe was forged' })
  assert.deepEqual(asked[2]?.command.data, {
    request: invoice,
    paymentHash: '0f'.repeat(32),
    payee: seller,
    amountMsat: '2000000',
    expiresAt: 1_795_003_600_000,
  })
})

test('open payouts are listed page by page', async () => {
  const list = async (query: string) => {
    const headers = { authorization: 'Bearer secret' }
    const response = await fetch(`http://127.0.0.1:${server.port}/operator/payouts${query}`, { headers })
    const { page, error } = (await response.json()) as { page?: object; error?: string }
    return response.ok ? page : error
  }
  assert.deepEqual(await list(''), { limit: 50, offset: 0 })
  assert.deepEqual(await list('?limit=500&offset=20'), { limit: 500, offset: 20 })
  for (const query of ['?limit=0', '?limit=501', '?offset=-1', '?limit=x', '?page=2'])
    assert.match(JSON.stringify(await list(query)), /^"The request is malformed: /)
})

test('an operator closes an order, and says where it bears a loss', async () => {
  const close = (body: object, id = PAID) => ask(`/orders/${id}/close`, JSON.stringify(body))
  await close({ reason: 'asked to' })
  await close({ reason: 'asked to', by: 'ada', bear_loss: true })
  assert.deepEqual(
    asked.map(({ category, id, command }) => [category, id, command]),
    [
      ['order', PAID, { type: 'CloseByOperator', data: { by: 'operator', reason: 'asked to' } }],
      ['order', PAID, { type: 'CloseByOperator', data: { by: 'ada', reason: 'asked to', bearsLoss: true } }],
    ],
  )
  assert.equal((await close({})).status, 400)
  assert.equal((await close({ reason: 'x', bear_loss: false })).status, 400)
  assert.equal((await close({ reason: 'x' }, ORDER)).status, 404)
})

test('a payout that is not there, and an invoice that cannot be, are refused with a sentence', async () => {
  const act = async (verb: string, body: object, id = PAID) => {
    const { status, error } = await ask(`/payouts/${id}/${verb}`, JSON.stringify(body))
    return [status, error]
  }
  waiting.hold = undefined
  assert.deepEqual(await act('retry', { reason: 'x' }), [422, 'This order has no payment, and so no payout.'])
  assert.deepEqual(await act('retry', { reason: 'x' }, ORDER), [404, 'There is no order with this id.'])
  const other = pubkeyOf(new Uint8Array(32).fill(4))
  waiting.hold = { owed: { ...nothingOwed, sellerPubkey: other }, payout: null }
  assert.deepEqual(await act('replace', { request: invoice }), [
    422,
    `The invoice must be of the node that sold the channel, ${other}.`,
  ])
  assert.deepEqual(await act('replace', { request: 'lnbc1' }), [422, 'This is no BOLT 11 invoice.'])
  assert.equal((await act('decide', { to: 'anybody', reason: 'x' }))[0], 400)
  assert.equal((await act('retry', {}))[0], 400)
  assert.deepEqual(asked, [])
})
