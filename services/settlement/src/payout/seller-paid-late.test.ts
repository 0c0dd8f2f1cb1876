import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { given } from '@penstock/testkit/given.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { expect, test } from 'vitest'
import { fakeNode, PREIMAGE } from '../effects/fake-node.fixture.ts'
import { sendPayout } from '../effects/send-payout.ts'
import { makePayoutInvoice, NOW, sampleFeeLimit, SELLER_MSAT, settlementFact, stateAfter } from '../samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'
import { payingHistory, paymentHash as sellerHash, payoutFailedFact } from './payout-samples.fixture.ts'

const closed: readonly SettlementFact[] = [
  ...payingHistory,
  payoutFailedFact('NO_ROUTE', NOW + 15_000),
  settlementFact('PayoutWithheld', { cause: 'spend-confirmed', reason: 'x', untilHeight: 1912 }),
  settlementFact('PayableClosed', { height: 1912, reason: 'x' }),
  settlementFact('LedgerPosted', {
    posting: 'owed-to-buyer',
    entries: [
      { account: 'payable', amountMsat: `${SELLER_MSAT}` },
      { account: 'owed-to-buyer', amountMsat: `-${SELLER_MSAT}` },
    ],
  }),
]
const giveRefundInvoice = (paymentHash: string, attempt: number) => {
  const refund = { ...makePayoutInvoice({ by: 7, paymentHash }), creditor: 'buyer' as const }
  const requested = { attempt, paymentHash, request: refund.request, maxFeeMsat: '20000' }
  return {
    given: [settlementFact('PayoutInvoiceSubmitted', refund), settlementFact('PayoutInvoiceAccepted', { paymentHash })],
    requested: settlementFact('PayoutRequested', requested),
  }
}
/** A node that has paid the seller, and nobody else. */
function nodeThatPaidSeller() {
  const { calls, context } = fakeNode()
  const find = (hash: string) =>
    Promise.resolve(hash === sellerHash ? ({ state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n } as const) : undefined)
  const { ports } = context
  const lightning = { ...ports.lightning, payments: { ...ports.lightning.payments, find } }
  return {
    calls,
    context: {
      ...context,
      ports: { ...ports, lightning, log: openLogger('silent'), clock: { ...ports.clock, sleep: () => Promise.resolve() } },
    },
  }
}

test('a payment that reaches the seller late leaves the debt to the buyer, until an operator retries the payout', async () => {
  const first = giveRefundInvoice('0b'.repeat(32), 2)
  const history = [...closed, ...first.given, first.requested]
  const { calls, context } = nodeThatPaidSeller()
  const outcome = await sendPayout(stateAfter(...history), context)
  expect(outcome).toMatchObject({ data: { state: 'succeeded', paymentHash: sellerHash } })
  if (outcome?.type !== 'RecordPayout') throw new Error('no outcome')
  const record = { ...outcome, at: NOW, data: { ...outcome.data, ...sampleFeeLimit, height: 1915 } }
  const { decision } = given(settlementDecider, ...history).when(record)
  const facts = 'facts' in decision ? decision.facts : []
  expect(facts.map(({ type }) => type)).toEqual(['PayoutFailed', 'IncidentRecorded', 'LedgerPosted'])
  const second = giveRefundInvoice('0c'.repeat(32), 3)
  const waiting = [...history, ...facts, ...second.given.slice(0, 1)]
  expect(stateAfter(...waiting).balances).toMatchObject({ 'owed-to-buyer': -SELLER_MSAT, 'operator-loss': SELLER_MSAT })

  // An invoice alone pays nothing.
  const granted = { paymentHash: '0c'.repeat(32), granted: true, ...sampleFeeLimit }
  given(settlementDecider, ...waiting)
    .when({ type: 'RecordPayhash', data: granted })
    .then(settlementFact('PayoutInvoiceAccepted', { paymentHash: '0c'.repeat(32) }))
  const retry = given(settlementDecider, ...history, ...facts, ...second.given).when({
    type: 'RetryPayoutNow',
    data: { by: 'ada', reason: 'The buyer gets it too.', ...sampleFeeLimit },
  }).decision
  const retried = 'facts' in retry ? retry.facts : []
  expect(retried.map(({ type }) => type)).toEqual(['PayoutRetryRequested', 'PayoutRequested'])
  expect(calls).toEqual([])
  const paid = await sendPayout(stateAfter(...history, ...facts, ...second.given, ...retried), context)
  expect(paid).toEqual({ type: 'RecordPayout', data: { state: 'succeeded', attempt: 3, feeMsat: '7' } })
})
