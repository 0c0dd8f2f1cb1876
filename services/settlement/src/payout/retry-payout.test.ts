import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { paymentHash, payingHistory, payoutReleasedFact } from './payout-samples.fixture.ts'
import { NOW, sampleFeeLimit, settledHistory, settlementFact } from '../samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'

test('an operator can retry a payout at once, if an amount is owed and there is an invoice for it', () => {
  const retry = { type: 'RetryPayoutNow', data: { by: 'ada', reason: 'The channel is back.', ...sampleFeeLimit } } as const
  const failed = settlementFact('PayoutFailed', {
    attempt: 1,
    paymentHash,
    status: 'NO_ROUTE',
    reason: 'x',
    retryAt: NOW + 1_000_000,
  })
  expect(given(settlementDecider, ...payingHistory, failed).when(retry).decision).toMatchObject({
    facts: [
      { type: 'PayoutRetryRequested', data: { by: 'ada' } },
      { type: 'PayoutRequested', data: { attempt: 2 } },
    ],
  })
  given(settlementDecider, ...payingHistory)
    .when(retry)
    .refuses('PAYOUT_UNDER_WAY')
  given(settlementDecider, ...settledHistory)
    .when(retry)
    .refuses('WITHHELD')
  given(settlementDecider, ...settledHistory, payoutReleasedFact)
    .when(retry)
    .refuses('NO_INVOICE')
  given(settlementDecider).when(retry).refuses('NOTHING_OWED')
})
