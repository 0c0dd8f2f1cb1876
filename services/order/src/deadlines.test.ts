import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { fulfilment } from './fulfilment.ts'
import { asked, claimed, named, replaced, started } from './samples.contract.ts'

const manual: readonly OrderFact[] = [fact('OrderPlaced', { ...orderTermsOf(true), approveBefore: 1000 })]

const reason = 'The payment expires too soon for another opening'
const goesBack = fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason, blamed: false, by: null })

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
  given(order, ...started)
    .when(reach(209), 7)
    .then(goesBack)
})

describe('a naming that settlement refuses since too few blocks are left', () => {
  const [one, two] = [outpointOf(1), outpointOf(2)]
  const tooLate = (outpoint: string) =>
    ({
      type: 'RecordOutpointNoted',
      data: { attempt: 1, outpoint, noted: false, attested: false, reason: 'too few blocks', tooLate: true, naming: 0 },
    }) as const
  const refused = (outpoint: string) => fact('OutpointRefused', { attempt: 1, outpoint, reason: 'too few blocks' })

  test('sends the payment back at once: no other seller could do better, and none is blamed', () => {
    given(order, ...claimed)
      .when(tooLate(one))
      .then(refused(one), goesBack)
    const closing = [...claimed, refused(one), goesBack]
    given(order, ...closing)
      .when(tooLate(one))
      .then()
    const steps = fulfilment(fold(order, closing), 'o')
    assert.deepEqual(
      steps.map((step) => step.kind === 'command' && step.command.type),
      ['CancelHold'],
    )
    given(order, ...closing)
      .when({ type: 'RecordHoldCancelled', data: { reason: 'released', verdict: null, sentence: reason } })
      .then(fact('SellerFailedToOpenChannel', { reason, blamed: false, lastHeight: false }))
  })

  test('also where the outpoint is the late one of a seller whose successor has named none', () => {
    given(
      order,
      ...replaced,
      fact('LateOutpointOffered', { attempt: 1, outpoint: one, attestation: null }),
      fact('CapacityRereserved', { attempt: 1, outpoint: one }),
      fact('OutpointClaimed', { attempt: 1, outpoint: one }),
    )
      .when(tooLate(one))
      .then(refused(one), goesBack)
  })

  test('keeps the channel that was noted in time', () => {
    given(
      order,
      ...named,
      fact('OutpointOffered', { attempt: 1, outpoint: two, attestation: null }),
      fact('OutpointClaimed', { attempt: 1, outpoint: two }),
    )
      .when(tooLate(two))
      .then(refused(two))
  })

  test('asks for no second release where the order is closing already', () => {
    const byOperator = fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' })
    given(order, ...claimed, byOperator)
      .when(tooLate(one))
      .then(refused(one))
  })
})
