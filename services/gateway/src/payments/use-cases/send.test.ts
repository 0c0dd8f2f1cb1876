import { decodePaymentRequest, encodePaymentRequest, type NewPaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GraphqlResult, NOW, readPath } from '../../gateway-harness.fixture.ts'
import { FIND_ONE, openPaymentsHarness, type PaymentsHarness, RECEIVE, SEND } from '../payments.fixture.ts'

const AT = 'payment.transaction.create_send'
const IN_PROGRESS = 'A request with this idempotency_key is already in progress'

let payments: PaymentsHarness
let walletId: string
beforeEach(async () => {
  payments = await openPaymentsHarness()
  ;({ walletId } = await payments.createSandbox())
})
afterEach(() => payments.harness.close())

const invoiceOf = (fields: Partial<NewPaymentRequest> = {}): string =>
  encodePaymentRequest(
    {
      network: 'mainnet',
      paymentHash: 'ab'.repeat(32),
      paymentSecret: 'cd'.repeat(32),
      createdAt: NOW,
      expirySeconds: 3600,
      cltvDelta: 18,
      description: 'beer',
      ...fields,
    },
    new Uint8Array(32).fill(7),
  )
const send = (input: object): Promise<GraphqlResult> => payments.gql(SEND, { input: { wallet_id: walletId, ...input } })
const sendOk = async (input: object): Promise<Record<string, unknown>> => {
  const answer = await send(input)
  assert.equal(answer.errors, undefined)
  return readPath(answer, AT) as Record<string, unknown>
}
const address = { lightning_address: 'someone@example.com', amount: '700' }
const extensionsOf = (answer: GraphqlResult): unknown => ('extensions' in answer ? answer.extensions : undefined)

test('a send takes the invoice of any network', async () => {
  for (const [index, network] of (['mainnet', 'testnet', 'signet', 'regtest'] as const).entries()) {
    const bolt11 = invoiceOf({ network, amountMsat: 5_000_000n, paymentHash: `${index}a`.repeat(32) })
    const { id, ...answer } = await sendOk({ request: { bolt11 } })
    assert.ok(id)
    assert.deepEqual(answer, {
      status: 'PENDING',
      direction: 'SEND',
      payment_request: bolt11,
      payment_hash: `${index}a`.repeat(32),
      expires_at: '2026-11-20T13:00:00.000Z',
      amount: { full_amount: '5000' },
    })
  }
})

test('a fraction of a satoshi is rounded up in the amount of a send', async () => {
  const { amount } = await sendOk({ request: { bolt11: invoiceOf({ amountMsat: 1001n }) } })
  assert.deepEqual(amount, { full_amount: '2' })
})

test('an invoice without an amount needs one, and another amount than the invoice has is refused', async () => {
  const open = invoiceOf()
  assert.match((await send({ request: { bolt11: open } })).errors?.[0]?.message ?? '', /has no amount/)
  assert.deepEqual((await sendOk({ request: { bolt11: open, amount: '21' } }))['amount'], { full_amount: '21' })
  const fixed = invoiceOf({ amountMsat: 5000n, paymentHash: 'ee'.repeat(32) })
  assert.match((await send({ request: { bolt11: fixed, amount: '6' } })).errors?.[0]?.message ?? '', /another amount/)
  await sendOk({ request: { bolt11: fixed, amount: '5' } })
})

test('an expired invoice is refused, but a repeated key gives the original', async () => {
  const expired = invoiceOf({ amountMsat: 5000n, createdAt: NOW - 7_200_000 })
  const refusal = await send({ request: { bolt11: expired } })
  assert.deepEqual(
    [refusal.errors?.[0]?.message, refusal.errors?.[0]?.extensions['code']],
    ['The invoice has expired. Ask the payee for a new one.', 'GRAPHQL_VALIDATION_FAILED'],
  )
  const { id } = await sendOk({ request: { bolt11: invoiceOf({ amountMsat: 5000n }) }, idempotency_key: 'k' })
  const again = await send({ request: { bolt11: expired }, idempotency_key: 'k' })
  assert.equal(readPath(again, `${AT}.id`), id)
  assert.deepEqual(extensionsOf(again), { idempotency_replayed: true, idempotency_mismatch: true })
})

test.each([
  [{}, /exactly one/],
  [{ address, request: { bolt11: 'x' } }, /exactly one/],
  [{ request: { bolt11: 'nonsense' } }, /bolt11/],
  [{ request: { bolt11: `lnbc1${'q'.repeat(2048)}` } }, /bolt11/],
  [{ address: { ...address, amount: '0' } }, /address.amount/],
  [{ address: { ...address, lightning_address: 'nobody' } }, /lightning_address/],
  [{ address: { ...address, lightning_address: `${'x'.repeat(250)}@example.com` } }, /lightning_address/],
  [{ address, idempotency_key: '' }, /idempotency_key/],
  [{ address, metadata: 'x' }, /metadata/],
])('a wrong request is refused before any command: %j', async (input, message) => {
  const { errors } = await send(input)
  assert.match(errors?.[0]?.message ?? '', message)
  assert.equal(errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
  assert.equal(payments.listSent('RequestSend').length, 0)
})

test('a send to an address has an invoice of the sandbox', async () => {
  const { payment_request: request, amount } = await sendOk({ address })
  const decoded = decodePaymentRequest(String(request))
  assert.deepEqual([decoded?.network, decoded?.amountMsat, amount], ['regtest', 700_000n, { full_amount: '700' }])
  const sent = JSON.stringify(payments.listSent('RequestSend'))
  assert.ok(!sent.includes('someone@') && !sent.includes(String(request)))
})

test('a second send of a payment hash is answered with the first send', async () => {
  const bolt11 = invoiceOf({ amountMsat: 5000n })
  const first = await sendOk({ request: { bolt11 } })
  const second = await send({ request: { bolt11 }, idempotency_key: 'second' })
  assert.deepEqual([readPath(second, AT), extensionsOf(second)], [first, undefined])
  const replay = await send({ request: { bolt11 }, idempotency_key: 'second' })
  assert.deepEqual([readPath(replay, AT), extensionsOf(replay)], [first, { idempotency_replayed: true }])
  const duplicate = payments.listSent('RequestSend')[1]?.id
  assert.notEqual(duplicate, first['id'])
  const found = await payments.gql(FIND_ONE, { id: duplicate })
  assert.equal(readPath(found, 'payment.transaction.find_one.id'), first['id'])
  const list =
    'query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { total_count list { id } } } } }'
  assert.deepEqual(await payments.call(list, { input: { wallet_id: walletId } }, 'payment.transaction.find_many'), {
    total_count: 1,
    list: [{ id: first['id'] }],
  })
})

test('a repeated key is refused until the payment hash is claimed', async () => {
  const { harness } = payments
  let waiting: Promise<void> | undefined
  let claim = (): void => undefined
  harness.respondWith(async ({ id, command }, { commandId }) => {
    // The gateway sent this data.
    const { invoice, ...request } = command.data as { invoice: object }
    await payments.project(
      'send',
      id,
      [
        { type: 'SendRequested', data: { ...request, rate: null, outcomeAt: null } },
        { type: 'InvoiceResolved', data: invoice },
      ],
      commandId,
    )
    waiting = new Promise((resolve) => (claim = resolve))
    void waiting.then(() => payments.project('send', id, [{ type: 'HashClaimed', data: {} }]))
  })
  const first = send({ address, idempotency_key: 'k' })
  while (!waiting) await new Promise(setImmediate)
  assert.equal((await send({ address, idempotency_key: 'k' })).errors?.[0]?.message, IN_PROGRESS)
  claim()
  assert.equal(readPath(await first, `${AT}.status`), 'PENDING')
  assert.equal(readPath(await send({ address, idempotency_key: 'k' }), `${AT}.id`), readPath(await first, `${AT}.id`))
})

test('a duplicate is answered once the send that stands for it has claimed the payment hash', async () => {
  const other = '0190a6c2-5b1c-5e0f-8d7c-1b9a4e635f0c'
  const duplicate = Promise.withResolvers<() => Promise<void>>()
  payments.harness.respondWith(async ({ id, command }, { commandId }) => {
    // The gateway sent this data.
    const { invoice, ...request } = command.data as { invoice: object }
    const requested = { type: 'SendRequested', data: { ...request, rate: null, outcomeAt: null } }
    const resolved = { type: 'InvoiceResolved', data: invoice }
    await payments.project('send', other, [requested])
    await payments.project('send', id, [requested, resolved, { type: 'HashTaken', data: { ofSendId: other } }], commandId)
    duplicate.resolve(() => payments.project('send', other, [resolved, { type: 'HashClaimed', data: {} }]))
  })
  const first = send({ address, idempotency_key: 'k' })
  const claim = await duplicate.promise
  assert.equal((await send({ address, idempotency_key: 'k' })).errors?.[0]?.message, IN_PROGRESS)
  await claim()
  assert.equal(readPath(await first, `${AT}.id`), other)
  assert.match(String(readPath(await send({ address, idempotency_key: 'k' }), `${AT}.payment_hash`)), /^[0-9a-f]{64}$/)
})

test('ten calls at once with one key make one send', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => send({ address, idempotency_key: 'k' })))
  const ids = answers.filter(({ errors }) => !errors).map((answer) => readPath(answer, `${AT}.id`))
  assert.equal(new Set(ids).size, 1)
  for (const { errors } of answers) if (errors) assert.equal(errors[0]?.message, IN_PROGRESS)
})

test('a completed send shows its fee, rounded up, and its timeline', async () => {
  const { id } = await sendOk({ address })
  await payments.complete('send', String(id), 700_000n, 1001n)
  const found = await payments.gql(FIND_ONE, { id })
  const at = 'payment.transaction.find_one'
  assert.deepEqual(
    ['status', 'fee', 'settle_amount.full_amount', 'events.0.event_type', 'events.1.event_type'].map((path) =>
      readPath(found, `${at}.${path}`),
    ),
    ['COMPLETED', '2', '700', 'payment.pending', 'payment.completed'],
  )
})

test('a transaction is found by its payment hash: a send first', async () => {
  const at = 'payment.transaction.find_one.id'
  const received = await payments.gql(RECEIVE, { input: { wallet_id: walletId, amount: '9' } })
  const made = readPath(received, 'payment.transaction.create_receive') as Record<string, string>
  const lightning = { payment_hash: made['payment_hash'] }
  assert.equal(await payments.call(FIND_ONE, { lightning }, at), made['id'])
  const { id } = await sendOk({ request: { bolt11: made['payment_request'] } })
  assert.equal(await payments.call(FIND_ONE, { lightning }, at), id)
  const unknown = await payments.gql(FIND_ONE, { lightning: { payment_hash: '00'.repeat(32) } })
  assert.equal(unknown.errors?.[0]?.message, 'Transaction not found')
  for (const variables of [{}, { id, lightning }, { lightning: { payment_hash: 'x' } }])
    assert.equal((await payments.gql(FIND_ONE, variables)).errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
})
