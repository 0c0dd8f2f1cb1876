import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { orderDecider } from './order.ts'
import { fulfilment } from './fulfilment.ts'
import {
  openRequestedFacts,
  outpointClaimedFacts,
  outpointAcceptedFacts,
  sellerReplacedFacts,
  attemptStartedFacts,
} from './order-facts.fixture.ts'

const manual: readonly OrderFact[] = [orderFact('OrderPlaced', { ...createOrderTerms(true), approveBefore: 1000 })]

const reason = 'The payment expires too soon for another opening'
const releaseRequested = orderFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason, blamed: false, by: null })

test('an approval window lapses only at its recorded deadline', () => {
  const lapse = (deadline: number) => ({ type: 'LapseApproval', data: { deadline } }) as const
  given(orderDecider, ...manual)
    .when(lapse(999))
    .then()
  given(orderDecider, ...manual)
    .when(lapse(1000))
    .then(orderFact('SellerFailedToReact', { reason: 'The seller did not answer in time' }))
})

test('an opening window lapses only at its recorded deadline, and only for its own attempt', () => {
  const lapse = (attempt: number, deadline: number) => ({ type: 'LapseOpening', data: { attempt, deadline } }) as const
  for (const stale of [lapse(1, 4999), lapse(2, 5000)])
    given(orderDecider, ...openRequestedFacts)
      .when(stale)
      .then()
  given(orderDecider, ...openRequestedFacts)
    .when(lapse(1, 5000))
    .then(orderFact('AttemptFailed', { attempt: 1, reason: 'The seller submitted no funding transaction in time', blamed: true }))
})

test('a seller is asked to open up to the open-before height, and not above it', () => {
  const reach = (height: number) =>
    ({ type: 'RecordBuyerReach', data: { check: 1, reached: true, reason: 'it answers', height } }) as const
  const window = createOrderTerms().policy.openWindowMs
  given(orderDecider, ...attemptStartedFacts)
    .when(reach(208), 7)
    .then(orderFact('ChannelOpenRequested', { attempt: 1, openBefore: 7 + window }))
  given(orderDecider, ...attemptStartedFacts)
    .when(reach(209), 7)
    .then(releaseRequested)
})

describe('an outpoint that settlement refuses because too few blocks are left', () => {
  const [one, two] = [createOutpoint(1), createOutpoint(2)]
  const tooLate = (outpoint: string) =>
    ({
      type: 'RecordOutpointRegistered',
      data: {
        attempt: 1,
        outpoint,
        registered: false,
        attested: false,
        reason: 'too few blocks',
        tooLate: true,
        outpointNumber: 0,
      },
    }) as const
  const refused = (outpoint: string) => orderFact('OutpointRefused', { attempt: 1, outpoint, reason: 'too few blocks' })

  test('releases the payment at once without blame, because no other seller could do better', () => {
    given(orderDecider, ...outpointClaimedFacts)
      .when(tooLate(one))
      .then(refused(one), releaseRequested)
    const closing = [...outpointClaimedFacts, refused(one), releaseRequested]
    given(orderDecider, ...closing)
      .when(tooLate(one))
      .then()
    const steps = fulfilment(fold(orderDecider, closing), 'o')
    assert.deepEqual(
      steps.map((step) => step.kind === 'command' && step.command.type),
      ['CancelHold'],
    )
    given(orderDecider, ...closing)
      .when({ type: 'RecordHoldCancelled', data: { reason: 'released', verdict: null, sentence: reason } })
      .then(orderFact('SellerFailedToOpenChannel', { reason, blamed: false, lastHeight: false }))
  })

  test('releases the payment also if a replaced seller submitted it and the successor has submitted none', () => {
    given(
      orderDecider,
      ...sellerReplacedFacts,
      orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: one, attestation: null }),
      orderFact('ReservationRenewedRecorded', { attempt: 1, outpoint: one }),
      orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: one }),
    )
      .when(tooLate(one))
      .then(refused(one), releaseRequested)
  })

  test('does not release the payment if an earlier outpoint was accepted in time', () => {
    given(
      orderDecider,
      ...outpointAcceptedFacts,
      orderFact('OutpointSubmitted', { attempt: 1, outpoint: two, attestation: null }),
      orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: two }),
    )
      .when(tooLate(two))
      .then(refused(two))
  })

  test('requests no second release if the order is already closing', () => {
    const byOperator = orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' })
    given(orderDecider, ...outpointClaimedFacts, byOperator)
      .when(tooLate(one))
      .then(refused(one))
  })
})
