import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { NOW, readPath } from '../../gateway-harness.fixture.ts'
import { openPaymentsHarness, type PaymentsHarness, RECEIVE, SEND } from '../payments.fixture.ts'
import { isOpenTransactionRow } from '../views/tables.ts'
import { createPaymentsGaugeReader } from './gauges.ts'

let payments: PaymentsHarness
let walletId: string
beforeEach(async () => {
  payments = await openPaymentsHarness()
  ;({ walletId } = await payments.createSandbox())
})
afterEach(() => payments.harness.close())

const MINUTE_MS = 60_000

/** Reads open and overdue receives, then open and overdue sends, at a time after the start of the test. */
async function readGauges(afterMs = 0): Promise<readonly number[]> {
  const { views, clock } = payments.harness.gateway
  const readings = await createPaymentsGaugeReader({ views, clock: { ...clock, now: () => NOW + afterMs } })()
  return readings.map(({ value }) => value)
}
const receive = async (): Promise<string> =>
  readPath(
    await payments.gql(RECEIVE, { input: { wallet_id: walletId, amount: '1000' } }),
    'payment.transaction.create_receive.id',
  ) as string // the selection contains the id

test('the gauges are 0 without transactions', async () => {
  assert.deepEqual(await readGauges(), [0, 0, 0, 0])
})

test('the gauges count pending transactions by direction, and the seconds since the end of the most overdue one', async () => {
  const completed = await receive()
  await receive()
  await receive()
  const address = { lightning_address: 'ada@shop.example', amount: '5' }
  await payments.gql(SEND, { input: { wallet_id: walletId, address } })
  await payments.complete('receive', completed, 1_000_000n)
  assert.deepEqual(await readGauges(), [2, 0, 1, 0])
  // The invoices expire after ten minutes.
  assert.equal((await readGauges(11 * MINUTE_MS))[1], 60)
})

test('the end of a transaction is the outcome that its caller chose, if the expiry is later', async () => {
  const base = { walletId, environmentId: walletId, environmentType: 'SANDBOX', teamId: walletId, assetId: 'asset' }
  const request = {
    ...base,
    amount: '1',
    amountMsat: '1000',
    textRecord: walletId,
    fingerprint: 'ab'.repeat(32),
    paymentHash: 'cd'.repeat(32),
    behavior: 'complete',
    rate: null,
    outcomeAt: NOW + 1000,
  }
  await payments.project('receive', walletId, [
    { type: 'ReceiveRequested', data: request },
    { type: 'InvoiceIssued', data: { issuedAt: NOW, expiresAt: NOW + 10 * MINUTE_MS } },
  ])
  assert.equal((await readGauges(3000))[1], 2)
})

test('the query for pending transactions scans only the index of these', async () => {
  const { rows } = await sql<{ detail: string }>`explain query plan
    select direction, count(*), min(ends_at) from gateway_transactions where ${isOpenTransactionRow} group by direction`.execute(
    payments.harness.gateway.views.db,
  )
  assert.deepEqual(
    rows.map(({ detail }) => detail),
    ['SCAN gateway_transactions USING COVERING INDEX gateway_transactions_open'],
  )
})
