import assert from 'node:assert/strict'
import { CompiledQuery } from 'kysely'
import { afterEach, beforeEach, test } from 'vitest'
import { NOW, readPath } from '../gateway-harness.fixture.ts'
import { FOREIGN_TEAM, openPaymentsHarness, type PaymentsHarness, RECEIVE, SEND, TEAM } from '../payments/payments.fixture.ts'
import { listTransactionReports, readTransactionReport, selectListed, type TransactionReportFilter } from './payment-report.ts'

let payments: PaymentsHarness
let shop: { readonly environmentId: string; readonly walletId: string }
beforeEach(async () => {
  payments = await openPaymentsHarness()
  shop = await payments.createSandbox()
})
afterEach(() => payments.harness.close())

const receive = async (input: object = {}, wallet = shop.walletId, bearer = payments.token): Promise<string> =>
  readPath(
    await payments.gql(RECEIVE, { input: { wallet_id: wallet, amount: '1000', ...input } }, bearer),
    'payment.transaction.create_receive.id',
  ) as string // the selection contains the id
const send = async (input: object): Promise<string> =>
  readPath(
    await payments.gql(SEND, { input: { wallet_id: shop.walletId, ...input } }),
    'payment.transaction.create_send.id',
  ) as string // the selection contains the id
const all: TransactionReportFilter = { environmentId: undefined, walletId: undefined, status: undefined }
const list = async (filter: Partial<TransactionReportFilter> = {}) => {
  const { total, transactions } = await listTransactionReports(payments.harness.gateway.views, { ...all, ...filter })
  return [total, ...transactions.map(({ id }) => id)]
}
const show = (id: string) => readTransactionReport(payments.harness.gateway.views, id)
const isoAfter = (ms: number): string => new Date(NOW + ms).toISOString()

test('the list contains the transactions of all teams, newest first, with the time of their end', async () => {
  const first = await receive()
  const foreignToken = await payments.logIn(FOREIGN_TEAM)
  const foreign = await payments.createSandbox('other', foreignToken)
  const second = await receive({}, foreign.walletId, foreignToken)
  assert.deepEqual(await list(), [2, second, first])
  const { transactions } = await listTransactionReports(payments.harness.gateway.views, all)
  assert.deepEqual(transactions[1], {
    id: first,
    direction: 'RECEIVE',
    status: 'PENDING',
    asset: 'BTC',
    base_units: '1000',
    wallet: shop.walletId,
    environment: shop.environmentId,
    created_at: transactions[1]?.created_at,
    ends_at: isoAfter(600_000),
  })
})

test('the list is filtered by environment, wallet and status, and the total counts only its transactions', async () => {
  const other = await payments.createSandbox('other')
  const [pending, completed] = [await receive(), await receive()]
  const elsewhere = await receive({}, other.walletId)
  await payments.complete('receive', completed, 1_000_000n)
  assert.deepEqual(await list({ status: 'PENDING' }), [2, elsewhere, pending])
  assert.deepEqual(await list({ status: 'COMPLETED' }), [1, completed])
  assert.deepEqual(await list({ environmentId: shop.environmentId }), [2, completed, pending])
  assert.deepEqual(await list({ walletId: other.walletId }), [1, elsewhere])
  assert.deepEqual(await list({ walletId: other.walletId, environmentId: shop.environmentId }), [0])
  assert.deepEqual(await list({ environmentId: other.environmentId, status: 'COMPLETED' }), [0])
})

test('the list has at most 50 entries, and a total of all', async () => {
  for (let index = 0; index < 51; index++) await receive()
  const [total, ...ids] = await list()
  assert.deepEqual([total, ids.length], [51, 50])
})

test('the list contains the transactions of a deleted environment', async () => {
  const id = await receive()
  await payments.project('environment', shop.environmentId, [{ type: 'EnvironmentDeleted', data: {} }])
  assert.deepEqual(await list(), [1, id])
})

test('a report contains the facts in order, the amounts and the owners, and no text of a person', async () => {
  const texts = { description: 'secret-text', metadata: '{"a":"secret-text"}', idempotency_key: 'secret-text' }
  const id = await receive(texts)
  await payments.complete('receive', id, 1_000_000n)
  const report = (await show(id)) ?? assert.fail()
  const { created_at: createdAt, updated_at: updatedAt, payment_hash: paymentHash, facts, ...rest } = report
  assert.deepEqual(rest, {
    id,
    direction: 'RECEIVE',
    status: 'COMPLETED',
    asset: 'BTC',
    base_units: '1000',
    amount_msat: '1000000',
    settled_base_units: '1000',
    settled_amount_msat: '1000000',
    fee_msat: null,
    reason: null,
    duplicate_of: null,
    wallet: shop.walletId,
    environment: shop.environmentId,
    team: TEAM,
    ends_at: isoAfter(600_000),
    settled_at: isoAfter(5000),
  })
  assert.match(paymentHash ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(facts, [
    { at: createdAt, fact: 'ReceiveRequested' },
    { at: createdAt, fact: 'InvoiceIssued' },
    { at: updatedAt, fact: 'ReceiveCompleted' },
  ])
  assert.doesNotMatch(JSON.stringify(report), /secret-text|lnbcrt/)
})

test('a report of a failed transaction contains the reason of the failure', async () => {
  const id = await receive()
  await payments.fail('receive', id)
  const report = await show(id)
  assert.deepEqual([report?.status, report?.reason, report?.facts.at(-1)?.fact], ['FAILED', 'sandbox', 'ReceiveFailed'])
})

test('a report of a duplicate send names the send that stands for it, and the list omits the duplicate', async () => {
  const { payment_request: bolt11 } = await payments.call<{ payment_request: string }>(
    RECEIVE,
    { input: { wallet_id: shop.walletId, amount: '1000' } },
    'payment.transaction.create_receive',
  )
  const first = await send({ request: { bolt11 } })
  await send({ request: { bolt11 } })
  const [, duplicate] = payments.listSent('RequestSend').map(({ id }) => id)
  const report = await show(duplicate ?? '')
  assert.deepEqual([report?.status, report?.duplicate_of], ['DUPLICATE', first])
  assert.deepEqual((await list()).slice(0, 2), [2, first])
})

test('an unknown transaction has no report', async () => {
  assert.equal(await show(TEAM), undefined)
})

test.each<readonly [string, Partial<TransactionReportFilter>, string]>([
  ['all transactions', {}, 'gateway_transactions_by_created_at_id'],
  ['a wallet', { walletId: TEAM }, 'gateway_transactions_by_wallet_id_created_at_id'],
  ['an environment', { environmentId: TEAM }, 'gateway_transactions_by_environment_id_created_at_id'],
  ['pending transactions', { status: 'PENDING' }, 'gateway_transactions_open'],
  ['pending transactions of a wallet', { walletId: TEAM, status: 'PENDING' }, 'gateway_transactions_open'],
])('the list of %s reads the index of these', async (_, filter, index) => {
  const { views } = payments.harness.gateway
  const { sql: text, parameters } = selectListed(views, { ...all, ...filter }).compile()
  const { rows } = await views.db.executeQuery<{ detail: string }>(
    CompiledQuery.raw(`explain query plan ${text}`, [...parameters]),
  )
  const read = rows.map(({ detail }) => detail).filter((detail) => detail.includes(' gateway_transactions '))
  assert.match(read.join(), new RegExp(`USING INDEX ${index}\\b`))
})
