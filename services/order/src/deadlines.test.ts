import type { OrderFact } from '@penstock/contracts/order.ts'
import { given } from '@penstock/testkit/given.ts'
import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { asked, started } from './samples.contract.ts'

const manual: readonly OrderFact[] = [fact('OrderPlaced', { ...orderTermsOf(true), approveBefore: 1000 })]

test('an approval ends at the instant that was recorded, and at no other', () => {
  const lapse = (deadline: number) => ({ type: 'LapseApproval', data: { deadline } }) as const
  given(order, ...manual)
    .when(lapse(999))
    .then()
  given(order, ...manual)
    .when(lapse(1000))
    .then(fact('SellerFailedToReact', { reason: 'The seller did not answer in time' }))
})

test('an opening window ends at the instant that was recorded, for the attempt that it was set for', () => {
  const lapse = (attempt: number, deadline: number) => ({ type: 'LapseOpening', data: { attempt, deadline } }) as const
  for (const stale of [lapse(1, 4999), lapse(2, 5000)])
    given(order, ...asked)
      .when(stale)
      .then()
  given(order, ...asked)
    .when(lapse(1, 5000))
    .then(fact('AttemptFailed', { attempt: 1, reason: 'The seller named no funding transaction in time', blamed: true }))
})

test('a seller is asked to open up to the last height, and no block later', () => {
  const reach = (height: number) =>
    ({ type: 'RecordBuyerReach', data: { look: 1, reached: true, reason: 'it answers', height } }) as const
  const window = orderTermsOf().policy.openWindowMs
  given(order, ...started)
    .when(reach(208), 7)
    .then(fact('OpeningAsked', { attempt: 1, openBefore: 7 + window }))
  const reason = 'The payment expires too soon for another opening'
  given(order, ...started)
    .when(reach(209), 7)
    .then(fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason, blamed: false, by: null }))
})
