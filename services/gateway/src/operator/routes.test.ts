import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { memoryBus } from '@penstock/adapters/memory/bus.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import express from 'express'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { startHttpServer, type ListeningServer } from '../http/http-server.ts'
import type { DeliveryLog, LoggedEvent } from '@penstock/ports/deliveries.ts'
import type { StoredOrder } from '../market/read/orders.ts'
import type { HoldView } from '../market/views/hold-view.ts'
import { noPayoutDue } from '../market/views/payout-due.ts'
import { createOperatorRouter } from './routes.ts'
import type { SimulatedNetworkControl } from './simulation.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const warned: object[] = []
const failures: object[] = []
const silent = (): void => undefined
const log: Logger = {
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
const findNothing = () => Promise.resolve(undefined)

const sentCommands: AddressedCommand[] = []
const invoiceAmounts: bigint[] = []
const simulation = {
  invoice: (_: string, sats: bigint) => {
    invoiceAmounts.push(sats)
    return { invoice: '', payment_hash: '' }
  },
} as unknown as SimulatedNetworkControl // the tests call nothing else

const EVENT = '00000000-0000-4000-8000-0000000000e1'
const event: LoggedEvent = {
  id: EVENT,
  envelopeId: 'payment.completed:t',
  environmentId: ORDER,
  walletId: null,
  transactionId: null,
  type: 'payment.completed',
  body: '{"secret":"text"}',
  createdAt: 0,
}
const deliveryLog: DeliveryLog = {
  findEvent: async (id) => (id === EVENT ? event : undefined),
  listEvents: async () => ({ totalCount: 1, events: [event] }),
  listAttempts: async () => [],
}

let server: ListeningServer
let auditError: Error
beforeEach(async () => {
  for (const list of [warned, failures, sentCommands, invoiceAmounts]) list.length = 0
  const app = express()
  const audit = { verify: () => Promise.reject(auditError), replay: findNothing, export: findNothing }
  const readOrderReport = async (id: string) => (id === ORDER ? { id } : undefined)
  app.use(
    '/operator',
    createOperatorRouter({
      gauges: undefined,
      rebuildViews: async (names) => names.map((projection) => ({ projection, facts: 1 })),
      token: 'secret',
      log,
      clock: systemClock,
      bus: memoryBus(),
      readOrderReport,
      findOrder: async (id) => (id === PAID ? ({ hold: waiting.hold } as unknown as StoredOrder) : undefined), // the routes read only this
      listOpenPayouts: async (page) => ({ total: 0, payouts: [], page }),
      payments: {
        listTransactions: async (filter) => ({ total: 0, transactions: [], filter }),
        readTransaction: async (id) => (id === ORDER ? { id } : undefined),
      },
      webhooks: { log: deliveryLog, hasEndpoint: async () => true, createId: () => ORDER },
      audit,
      sendCommand: async (command) => void sentCommands.push(command),
      simulation,
    }),
  )
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
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

test('a malformed request is answered with a message, and logs no warning', async () => {
  assert.equal((await ask(`/orders/${ORDER}`)).status, 200)
  const cases: readonly [number, RegExp, Promise<{ status: number; error?: string | undefined }>][] = [
    [400, /not valid JSON/, ask('/parked/replay', '{"all":')],
    [400, /malformed: the body/, ask('/parked/replay', '{"nothing": 1}')],
    [400, /escape that stands for no character/, ask('/orders/%E0%A4%A')],
    [400, /An order id is a UUID/, ask('/orders/nonsense')],
    [413, /too large/, ask('/parked/replay', JSON.stringify({ all: 'x'.repeat(70_000) }))],
    [404, /no order with this id/, ask('/orders/30000000-0000-4000-8000-00000000ffff')],
    [400, /A transaction id is a UUID/, ask('/payments/nonsense')],
    [404, /no transaction with this id/, ask(`/payments/${PAID}`)],
    [404, /no such operator route/, ask('/nowhere')],
  ]
  for (const [status, sentence, answer] of cases) {
    const { status: found, error } = await answer
    assert.deepEqual([found, sentence.test(error ?? '')], [status, true], error)
  }
  assert.deepEqual(warned, [])
})

test('an impossible request is answered with its reason, and the failure of a dependency logs a warning', async () => {
  auditError = new Error('That is not possible.')
  assert.deepEqual(await ask('/audit/verify', '{}'), { status: 422, error: 'That is not possible.' })
  assert.deepEqual(warned, [])
  auditError = new Fault('the store is away')
  assert.equal((await ask('/audit/verify', '{}')).status, 503)
  assert.equal(warned.length, 1)
})

test('an internal error is answered without its details', async () => {
  for (const internalError of [
    new TypeError('x is undefined'),
    new Bug('that cannot be'),
    Object.assign(new Error('SQL'), { code: 'E' }),
  ]) {
    auditError = internalError
    const answer = await ask('/audit/verify', '{}')
    assert.deepEqual(answer, { status: 500, error: 'Penstock had an internal error; its log has the details.' })
  }
  assert.equal(failures.length, 3)
})

test('a long error message is truncated', async () => {
  auditError = new Error('z'.repeat(5000))
  assert.equal((await ask('/audit/verify', '{}')).error?.length, 500)
})

test('a grant is for the same seller in either letter case of its key', async () => {
  const pubkey = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
  for (const written of [pubkey, pubkey.toUpperCase()])
    assert.equal((await ask('/sellers/grant', JSON.stringify({ pubkey: written, reason: 'known' }))).status, 200)
  assert.deepEqual(
    sentCommands.map(({ id }) => id),
    [pubkey, pubkey],
  )
})

test('an invoice of the simulated network cannot exceed the total supply of bitcoin', async () => {
  const invoice = (sats: string) => ask('/sim/invoice', JSON.stringify({ alias: 'ada', sats }))
  assert.equal((await invoice('2100000000000000')).status, 200)
  for (const sats of ['2100000000000001', '9999999999999999'])
    assert.deepEqual(await invoice(sats), { status: 400, error: 'The request is malformed: sats: more than all bitcoin.' })
  assert.deepEqual(invoiceAmounts, [2_100_000_000_000_000n])
})

test('an operator retries and decides a payout with an author and a reason, and submits invoices for it', async () => {
  const sellerPubkey = derivePubkey(sellerKey)
  waiting.hold = { owed: { ...noPayoutDue, sellerPubkey, amountMsat: '2000000' }, payout: null }
  const act = (verb: string, body: object) => ask(`/payouts/${PAID}/${verb}`, JSON.stringify(body))
  await act('retry', { reason: 'the channel is back' })
  await act('decide', { to: 'buyer', by: 'ada', reason: 'the probe was forged', proof: '0e'.repeat(32) })
  await act('replace', { request: invoice })
  await act('refund', { request: invoice, proof: '0d'.repeat(32) })
  assert.deepEqual(
    sentCommands.map(({ category, id, command }) => [category, id, command.type]),
    ['RetryPayoutNow', 'DecidePayout', 'SubmitPayoutInvoice', 'SubmitRefundInvoice'].map((type) => ['settlement', PAID, type]),
  )
  assert.deepEqual(sentCommands[0]?.command.data, { by: 'operator', reason: 'the channel is back' })
  assert.deepEqual(sentCommands[1]?.command.data, {
    to: 'buyer',
    by: 'ada',
    reason: 'the probe was forged',
    proof: '0e'.repeat(32),
  })
  assert.deepEqual(sentCommands[2]?.command.data, {
    request: invoice,
    paymentHash: '0f'.repeat(32),
    payee: sellerPubkey,
    amountMsat: '2000000',
    expiresAt: 1_795_003_600_000,
  })
  assert.deepEqual(sentCommands[3]?.command.data, { ...sentCommands[2].command.data, proof: '0d'.repeat(32) })
  assert.equal((await act('refund', { request: invoice })).status, 400)
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
  // The answer repeats an unknown name, but shortened.
  assert.match(JSON.stringify(await list(`?${'a'.repeat(3000)}`)), /^"The request is malformed: .{400,480}…"$/)
})

test('transactions are listed by environment, wallet and status', async () => {
  const list = async (query: string) => {
    const headers = { authorization: 'Bearer secret' }
    const response = await fetch(`http://127.0.0.1:${server.port}/operator/payments${query}`, { headers })
    const { filter, error } = (await response.json()) as { filter?: object; error?: string }
    return response.ok ? filter : error
  }
  assert.deepEqual(await list(''), {})
  assert.deepEqual(await list('?status=pending'), { status: 'PENDING' })
  assert.deepEqual(await list(`?environment=${ORDER}&wallet=${PAID}`), { environmentId: ORDER, walletId: PAID })
  for (const query of ['?status=open', '?wallet=1', '?environment=x', '?limit=5', '?status=failed&status=pending'])
    assert.match(JSON.stringify(await list(query)), /^"The request is malformed: /)
  assert.equal((await ask(`/payments/${ORDER}`)).status, 200)
})

test('an operator closes an order, and can bear its loss', async () => {
  const close = (body: object, id = PAID) => ask(`/orders/${id}/close`, JSON.stringify(body))
  await close({ reason: 'asked to' })
  await close({ reason: 'asked to', by: 'ada', bear_loss: true })
  assert.deepEqual(
    sentCommands.map(({ category, id, command }) => [category, id, command]),
    [
      ['order', PAID, { type: 'CloseByOperator', data: { by: 'operator', reason: 'asked to' } }],
      ['order', PAID, { type: 'CloseByOperator', data: { by: 'ada', reason: 'asked to', bearsLoss: true } }],
    ],
  )
  assert.equal((await close({})).status, 400)
  assert.equal((await close({ reason: 'x', bear_loss: false })).status, 400)
  assert.equal((await close({ reason: 'x' }, ORDER)).status, 404)
})

test('a missing payout and an invalid invoice are refused with a message', async () => {
  const act = async (verb: string, body: object, id = PAID) => {
    const { status, error } = await ask(`/payouts/${id}/${verb}`, JSON.stringify(body))
    return [status, error]
  }
  waiting.hold = undefined
  assert.deepEqual(await act('retry', { reason: 'x' }), [422, 'This order has no payment, and so no payout.'])
  assert.deepEqual(await act('retry', { reason: 'x' }, ORDER), [404, 'There is no order with this id.'])
  const other = derivePubkey(new Uint8Array(32).fill(4))
  waiting.hold = { owed: { ...noPayoutDue, sellerPubkey: other }, payout: null }
  assert.deepEqual(await act('replace', { request: invoice }), [
    422,
    `The invoice must be of the node that sold the channel, ${other}.`,
  ])
  assert.deepEqual(await act('replace', { request: 'lnbc1' }), [422, 'This is no BOLT 11 invoice.'])
  assert.equal((await act('decide', { to: 'anybody', reason: 'x', proof: '0e'.repeat(32) }))[0], 400)
  assert.equal((await act('decide', { to: 'buyer', reason: 'x' }))[0], 400)
  assert.equal((await act('retry', {}))[0], 400)
  assert.deepEqual(sentCommands, [])
})
