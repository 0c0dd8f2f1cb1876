import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, test } from 'vitest'
import { type GraphqlResult, NOW, readPath } from '../../gateway-harness.fixture.ts'
import { FIND_ONE, FOREIGN_TEAM, openPaymentsHarness, type PaymentsHarness, RECEIVE } from '../payments.fixture.ts'

const AT = 'payment.transaction.create_receive'
const IN_PROGRESS = 'A request with this idempotency_key is already in progress'

let payments: PaymentsHarness
let walletId: string
beforeEach(async () => {
  payments = await openPaymentsHarness()
  ;({ walletId } = await payments.createSandbox())
})
afterEach(() => payments.harness.close())

const receive = (input: object = {}, bearer?: string): Promise<GraphqlResult> =>
  payments.gql(RECEIVE, { input: { wallet_id: walletId, amount: '1000', ...input } }, bearer)
const receiveOk = async (input: object = {}): Promise<Record<string, string>> => {
  const answer = await receive(input)
  assert.equal(answer.errors, undefined)
  return readPath(answer, AT) as Record<string, string>
}
const extensionsOf = (answer: GraphqlResult): unknown => ('extensions' in answer ? answer.extensions : undefined)

test('an invoice is signed for regtest, and contains the amount, the hash, the expiry and the description', async () => {
  const { payment_request: request = '', ...answer } = await receiveOk({ description: 'coffee', metadata: '{"order": 42}' })
  assert.deepEqual(answer, {
    id: answer['id'],
    status: 'PENDING',
    direction: 'RECEIVE',
    wallet_id: walletId,
    payment_hash: answer['payment_hash'],
    expires_at: '2026-11-20T12:10:00.000Z',
    idempotency_key: answer['idempotency_key'],
    description: 'coffee',
    metadata: '{"order": 42}',
    amount_sats: '1000',
    amount: {
      full_amount: '1000',
      display_amount: '0.00001000',
      value: { usd_value: '1.00' },
      asset: { symbol: 'BTC', precision: 8 },
    },
  })
  const decoded = decodePaymentRequest(request)
  assert.deepEqual(
    [decoded?.network, decoded?.paymentHash, decoded?.amountMsat, decoded?.expiresAt, decoded?.description],
    ['regtest', answer['payment_hash'], 1_000_000n, NOW + 600_000, 'coffee'],
  )
})

test('the facts contain no text of the caller', async () => {
  await receiveOk({ description: 'secret-text', metadata: '{"a":"secret-text"}', idempotency_key: 'secret-text' })
  assert.ok(!JSON.stringify(payments.listSent('RequestReceive')).includes('secret-text'))
})

test('a description of more than 639 bytes is in the invoice as its SHA-256', async () => {
  for (const description of ['x'.repeat(640), 'ü'.repeat(640), '⚡'.repeat(600), '😀'.repeat(640)]) {
    const answer = await receiveOk({ description })
    assert.equal(answer['description'], description)
    const hash = createHash('sha256').update(description).digest('hex')
    assert.equal(decodePaymentRequest(answer['payment_request'] ?? '')?.descriptionHash, hash)
  }
  const short = await receiveOk({ description: 'x'.repeat(639) })
  assert.equal(decodePaymentRequest(short['payment_request'] ?? '')?.description, 'x'.repeat(639))
})

test('a given description hash takes the place of the description in the invoice', async () => {
  const answer = await receiveOk({ description: 'tip', bolt11: { description_hash: 'AB'.repeat(32) } })
  assert.equal(answer['description'], 'tip')
  assert.equal(decodePaymentRequest(answer['payment_request'] ?? '')?.descriptionHash, 'ab'.repeat(32))
})

test.each([
  [{ amount: '0' }, /amount/],
  [{ amount: '-1' }, /amount/],
  [{ amount: '+1' }, /amount/],
  [{ amount: '1.5' }, /amount/],
  [{ amount: '01' }, /amount/],
  [{ amount: '' }, /amount/],
  [{ amount: '1\n' }, /amount/],
  [{ amount: '1'.repeat(17) }, /amount/],
  [{ description: 'x'.repeat(641) }, /description/],
  [{ description: '😀'.repeat(641) }, /description/],
  [{ expires_in_seconds: 0 }, /expires_in_seconds/],
  [{ expires_in_seconds: -1 }, /expires_in_seconds/],
  [{ expires_in_seconds: 2_592_001 }, /expires_in_seconds/],
  [{ idempotency_key: '' }, /idempotency_key/],
  [{ idempotency_key: 'x'.repeat(256) }, /idempotency_key/],
  [{ metadata: 'not json' }, /metadata/],
  [{ metadata: '[]' }, /metadata/],
  [{ metadata: 'null' }, /metadata/],
  [{ metadata: '3' }, /metadata/],
  [{ metadata: JSON.stringify({ a: 'x'.repeat(2041) }) }, /metadata/],
  [{ metadata: '{"svc_sandbox_behavior":"win"}' }, /svc_sandbox_behavior/],
  [{ bolt11: { description_hash: 'ab' } }, /description_hash/],
  [{ wallet_id: 'x' }, /Invalid ID/],
])('an input beyond its limits is refused before any command: %j', async (input, message) => {
  const { errors } = await receive({ idempotency_key: 'k', ...input })
  assert.equal(errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
  assert.match(errors[0].message, message)
  assert.equal(payments.listSent('RequestReceive').length, 0)
  await receiveOk({ idempotency_key: 'k' })
})

test('inputs at their limits are accepted', async () => {
  for (const input of [
    { amount: '9'.repeat(16) },
    { amount: '1' },
    { expires_in_seconds: 1 },
    { expires_in_seconds: 2_592_000 },
    { idempotency_key: '😀'.repeat(255) },
    { metadata: JSON.stringify({ a: '😀'.repeat(2040) }) },
    { metadata: ' {"b":1,"a":2} ' },
    { description: null, metadata: null, idempotency_key: null, expires_in_seconds: null },
  ])
    await receiveOk(input)
})

test('the metadata chooses the end of the transaction, and the default is its expiry', async () => {
  for (const metadata of [null, '{}', '{"svc_sandbox_behavior":"complete"}', '{"svc_sandbox_behavior":"fail"}'])
    await receiveOk({ metadata })
  const behaviors = payments.listSent('RequestReceive').map(({ data }) => data['behavior'])
  assert.deepEqual(behaviors, ['expire', 'expire', 'complete', 'fail'])
})

test('a repeated key gives the original, and the response says so', async () => {
  const first = await receive({ idempotency_key: 'order-7', description: 'a' })
  assert.equal(extensionsOf(first), undefined)
  const again = await receive({ idempotency_key: 'order-7', description: 'a' })
  assert.deepEqual(extensionsOf(again), { idempotency_replayed: true })
  const changed = await receive({ idempotency_key: 'order-7', description: 'a', amount: '2000' })
  assert.deepEqual(extensionsOf(changed), { idempotency_replayed: true, idempotency_mismatch: true })
  for (const answer of [again, changed]) assert.deepEqual(readPath(answer, AT), readPath(first, AT))
  assert.equal(payments.listSent('RequestReceive').length, 1)
})

test('a key counts for its wallet and its direction alone', async () => {
  const other = await payments.createSandbox('other')
  const ids = [await receiveOk({ idempotency_key: 'k' }), await receiveOk({ idempotency_key: 'k', wallet_id: other.walletId })]
  assert.equal(new Set(ids.map(({ id }) => id)).size, 2)
})

test('ten calls at once with one key make one invoice, and the texts of the other calls are deleted', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => receive({ idempotency_key: 'order-7', description: `call ${index}` })),
  )
  const made = answers.filter(({ errors }) => !errors).map((answer) => readPath(answer, `${AT}.payment_request`))
  assert.equal(new Set(made).size, 1)
  for (const { errors } of answers) if (errors) assert.equal(errors[0]?.message, IN_PROGRESS)
  const records = payments.listSent('RequestReceive').map(({ data }) => data['textRecord'] ?? '')
  const stored = await Promise.all(records.map((id) => payments.harness.gateway.records.get(id)))
  assert.equal(stored.filter((record) => record !== undefined).length, 1)
  const later = await receive({ idempotency_key: 'order-7' })
  assert.equal(readPath(later, `${AT}.payment_request`), made[0])
})

test('a call whose key another replica has used meanwhile is refused, and then finds the original', async () => {
  const original = await receiveOk({ idempotency_key: 'k' })
  const { views } = payments.harness.gateway
  const table = views.db.$extendTables<{ gateway_transactions: { id: string } & Record<string, unknown> }>()
  const row = await table.selectFrom('gateway_transactions').selectAll().executeTakeFirstOrThrow()
  await table.deleteFrom('gateway_transactions').execute()
  // The row of the other replica's call appears while the command of this call is handled.
  payments.harness.respondWith(async (ask, options) => {
    await table.insertInto('gateway_transactions').values(row).execute()
    await payments.harness.projectOutcome(ask, options, null)
  })
  const { errors } = await receive({ idempotency_key: 'k' })
  assert.equal(errors?.[0]?.message, IN_PROGRESS)
  assert.equal((await receiveOk({ idempotency_key: 'k' }))['payment_request'], original['payment_request'])
})

test('a refusal before the facts of its command keeps the texts', async () => {
  payments.harness.respondWith((ask, options) =>
    payments.harness.projectOutcome(ask, options, { code: 'NOT_FOUND', message: 'Wallet not found' }),
  )
  assert.equal((await receive({ idempotency_key: 'k', description: 'coffee' })).errors?.[0]?.message, 'Wallet not found')
  // One replica refused the repetition of the command, and now the facts of the replica that accepted it arrive.
  const [sent] = payments.listSent('RequestReceive')
  assert.ok(sent)
  const { issuedAt, expiresAt, ...request } = sent.data
  await payments.project('receive', sent.id, [
    { type: 'ReceiveRequested', data: { ...request, rate: null, outcomeAt: null } },
    { type: 'InvoiceIssued', data: { issuedAt, expiresAt } },
  ])
  const replayed = await receiveOk({ idempotency_key: 'k', description: 'coffee' })
  assert.equal(replayed['description'], 'coffee')
  assert.equal(decodePaymentRequest(replayed['payment_request'] ?? '')?.paymentHash, replayed['payment_hash'])
})

test('a foreign wallet is answered like an unknown one', async () => {
  const stranger = await payments.logIn(FOREIGN_TEAM)
  const unknown = await receive({ wallet_id: '70000000-0000-4000-8000-0000000000ff' })
  const foreign = await receive({}, stranger)
  assert.deepEqual([foreign.errors?.[0]?.message, unknown.errors?.[0]?.message], ['Wallet not found', 'Wallet not found'])
})

test('a completed receive shows its settlement and its timeline', async () => {
  const { id } = await receiveOk()
  await payments.complete('receive', id ?? '', 1_000_999n)
  assert.deepEqual(await payments.call(FIND_ONE, { id }, 'payment.transaction.find_one'), {
    id,
    status: 'COMPLETED',
    fee: null,
    settled_at: '2026-11-20T12:00:05.000Z',
    error: null,
    exchange_rate: null,
    node_id: null,
    preimage: null,
    settle_amount_sats: '1000',
    settle_amount: { full_amount: '1000', value: { usd_value: '1.00' } },
    events: [
      {
        event_type: 'payment.pending',
        message: 'The transaction awaits its payment.',
        details: null,
        created_at: '2026-11-20T12:00:03.000Z',
      },
      {
        event_type: 'payment.completed',
        message: 'The transaction was paid.',
        details: null,
        created_at: '2026-11-20T12:00:04.000Z',
      },
    ],
  })
})

test('a failed receive shows its reason, and an expired one none', async () => {
  const [failed, expired] = [await receiveOk(), await receiveOk()]
  await payments.fail('receive', failed['id'] ?? '')
  await payments.expire('receive', expired['id'] ?? '')
  const read = (id: string | undefined) => payments.gql(FIND_ONE, { id })
  const bad = await read(failed['id'])
  assert.match(String(readPath(bad, 'payment.transaction.find_one.error')), /sandbox/)
  assert.equal(readPath(bad, 'payment.transaction.find_one.status'), 'FAILED')
  assert.equal(readPath(bad, 'payment.transaction.find_one.events.1.details'), '{"reason":"sandbox"}')
  const late = await read(expired['id'])
  assert.equal(readPath(late, 'payment.transaction.find_one.status'), 'EXPIRED')
  assert.equal(readPath(late, 'payment.transaction.find_one.error'), null)
  assert.equal(readPath(late, 'payment.transaction.find_one.events.1.event_type'), 'payment.expired')
})

test('a receive without a fresh rate has no dollar value', async () => {
  await payments.harness.close()
  payments = await openPaymentsHarness({ rate: null })
  ;({ walletId } = await payments.createSandbox())
  const answer = await receive()
  assert.equal(readPath(answer, `${AT}.amount.value.usd_value`), null)
})
