import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'
import { isPayoutDueRow } from '../market/views/payout-due-row.ts'
import { listOpenPayouts } from './open-payouts.ts'

type Fact = Pick<SettlementFact, 'type'> & { readonly data: object }
const orderId = (digit: number): string => `30000000-0000-4000-8000-00000000000${digit}`
const SELLER = `02${'ab'.repeat(32)}`
const SETTLED_AT = Date.UTC(2026, 0, 1)

const posted = (posting: string, account: string, amountMsat: string): Fact => ({
  type: 'LedgerPosted',
  data: { posting, entries: [{ account, amountMsat }] },
})
const settled: readonly Fact[] = [
  { type: 'OutpointRegistered', data: { outpoint: 'x', terms: { sellerPubkey: SELLER } } },
  { type: 'HoldSettled', data: { settledAt: SETTLED_AT, receivedMsat: '5000', confirmations: 3 } },
  posted('settled', 'payable', '-4000'),
]
const invoice = (paymentHash: string, creditor: string): readonly Fact[] => [
  { type: 'PayoutInvoiceSubmitted', data: { paymentHash, payee: SELLER, amountMsat: '4000', creditor } },
  { type: 'PayoutInvoiceAccepted', data: { paymentHash } },
]
const withheld = (cause: string, untilHeight: number): Fact => ({
  type: 'PayoutWithheld',
  data: { cause, reason: `for ${cause}`, untilHeight },
})
const released: Fact = { type: 'PayoutReleased', data: { atHeight: 6, confirmations: 6 } }
const requested: Fact = { type: 'PayoutRequested', data: { attempt: 1, paymentHash: 'aa' } }
const failed: Fact = { type: 'PayoutFailed', data: { paymentHash: 'aa', status: 'NO_ROUTE', reason: 'no way', retryAt: 99_000 } }
const paid: readonly Fact[] = [
  { type: 'PayoutSucceeded', data: { attempt: 1, paymentHash: 'aa', feeMsat: '0' } },
  posted('payout', 'payable', '4000'),
]
const closed: readonly Fact[] = [
  { type: 'PayableClosed', data: { height: 20, reason: 'gone' } },
  posted('owed-to-buyer', 'payable', '4000'),
  posted('owed-to-buyer', 'owed-to-buyer', '-4000'),
]
const lost: readonly Fact[] = [
  { type: 'HoldCancelled', data: { at: SETTLED_AT, sentence: 'x' } },
  { type: 'LossSearchStarted', data: { cause: 'not-ready', untilHeight: 9 } },
  { type: 'LossBorne', data: { cause: 'not-ready', height: 5, peer: null, amountMsat: '4000' } },
  posted('operator-loss', 'payable', '-4000'),
  withheld('operator-loss', 5),
]

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
})
afterEach(() => market.close())

const list = (limit = 50, offset = 0) => listOpenPayouts(market.gateway.views, { limit, offset })

test.each<readonly [string, readonly Fact[]]>([
  ['without_invoice', settled],
  ['confirming', [...settled, ...invoice('aa', 'seller')]],
  ['withheld', [...settled, withheld('reorg', 20)]],
  ['loss_unconfirmed', lost],
  ['paying', [...settled, ...invoice('aa', 'seller'), released, requested]],
  ['retrying', [...settled, ...invoice('aa', 'seller'), released, requested, failed]],
  ['owed_to_buyer', [...settled, ...invoice('bb', 'seller'), withheld('reorg', 20), ...closed]],
  ['retrying', [...settled, ...closed, ...invoice('aa', 'buyer'), requested, failed]],
])('a payout is open, and %s', async (state, facts) => {
  await market.projectFacts('settlement', orderId(1), facts)
  const { total, payouts } = await list()
  assert.deepEqual([total, payouts.map((one) => one.state)], [1, [state]])
})

test.each<readonly [string, readonly Fact[]]>([
  ['the hold is only requested', [{ type: 'HoldRequested', data: { paymentHash: 'cc' } }]],
  ['the payout succeeded', [...settled, ...invoice('aa', 'seller'), released, requested, ...paid]],
  [
    'the operator loss is refuted',
    [
      ...lost,
      { type: 'LossRefuted', data: { height: 9, reason: 'x', by: 'ada' } },
      posted('operator-loss-refuted', 'payable', '4000'),
    ],
  ],
])('no payout is open if %s', async (_, facts) => {
  await market.projectFacts('settlement', orderId(1), facts)
  assert.deepEqual(await list(), { total: 0, payouts: [] })
})

test('an entry has the amount, the creditor, and every withholding cause with its end height', async () => {
  await market.projectFacts('settlement', orderId(1), [...settled, withheld('reorg', 20), withheld('terms', 31)])
  assert.deepEqual((await list()).payouts, [
    {
      order: orderId(1),
      amount_msat: '4000',
      creditor: 'seller',
      state: 'withheld',
      since: new Date(SETTLED_AT).toISOString(),
      attempts: 0,
      retry_at: null,
      reason: 'for terms',
      withheld: [
        { cause: 'reorg', until_height: 20, reason: 'for reorg' },
        { cause: 'terms', until_height: 31, reason: 'for terms' },
      ],
    },
  ])
})

test('the oldest order is first, and a page has at most its limit of entries', async () => {
  for (const digit of [3, 1, 4, 2]) await market.projectFacts('settlement', orderId(digit), settled)
  await market.projectFacts('settlement', orderId(2), [requested, ...paid])
  const orders = async (limit: number, offset: number) => {
    const { total, payouts } = await list(limit, offset)
    return [total, ...payouts.map(({ order }) => order)]
  }
  assert.deepEqual(await orders(2, 0), [3, orderId(1), orderId(3)])
  assert.deepEqual(await orders(2, 2), [3, orderId(4)])
})

test('the query for due payouts scans only the index of due payouts', async () => {
  const { rows } = await sql<{ detail: string }>`explain query plan
    select order_id, view from gateway_holds_v2 where ${isPayoutDueRow} order by order_id limit 50`.execute(
    market.gateway.views.db,
  )
  assert.deepEqual(
    rows.map(({ detail }) => detail),
    ['SCAN gateway_holds_v2 USING INDEX gateway_holds_v2_owing'],
  )
})
