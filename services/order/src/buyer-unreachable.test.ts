import { given } from '@penstock/testkit/given.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { orderDecider } from './order.ts'
import { openRequestedFacts, sellerReplacedFacts, attemptStartedFacts } from './order-facts.fixture.ts'

const one = createOutpoint(1)
const unreachable = {
  type: 'Cancel',
  data: { by: createCandidate(1).sellerAccountId, reason: 'UNABLE_TO_CONNECT_TO_NODE' },
} as const
const reportedFacts = [
  ...openRequestedFacts,
  orderFact('UnreachableReported', { attempt: 1, reason: "The seller cannot connect to the buyer's node; ours tries it" }),
]
const reach = (check: number, reached: boolean) =>
  ({ type: 'RecordBuyerReach', data: { check, reached, reason: 'The node does not answer.', height: 100 } }) as const

test("a seller that cannot connect to the buyer's node is blamed only if our node can", () => {
  given(orderDecider, ...openRequestedFacts)
    .when(unreachable)
    .then(...reportedFacts.slice(openRequestedFacts.length))
  given(orderDecider, ...reportedFacts)
    .when(unreachable)
    .then()
  given(orderDecider, ...attemptStartedFacts)
    .when(unreachable)
    .refuses('BUSY')
  // Our node cannot connect either, so the payment is released without blame.
  given(orderDecider, ...reportedFacts)
    .when(reach(2, false))
    .then(
      orderFact('ReleaseRequested', {
        to: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        reason: 'The node does not answer.',
        blamed: false,
        by: null,
      }),
    )
  const failureReason = "The seller could not connect to the buyer's node"
  given(orderDecider, ...reportedFacts)
    .when(reach(2, true))
    .then(orderFact('AttemptFailed', { attempt: 1, reason: failureReason, blamed: true }))
  // A repeated result of the earlier reach check is ignored.
  given(orderDecider, ...reportedFacts)
    .when(reach(1, true))
    .then()
  // The opening window does not lapse while our node tries to connect.
  given(orderDecider, ...reportedFacts)
    .when({ type: 'LapseOpening', data: { attempt: 1, deadline: 5000 } })
    .then()
  // A seller that submits an outpoint has connected to the buyer's node.
  given(orderDecider, ...reportedFacts, orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation: null }))
    .when(reach(2, false))
    .then()
})

test('a seller that cannot connect is not blamed if the order has no address of the buyer', () => {
  const terms = createOrderTerms()
  const placed = orderFact('OrderPlaced', { ...terms, destination: { ...terms.destination, sockets: [] }, approveBefore: null })
  given(orderDecider, placed, ...reportedFacts.slice(1))
    .when(reach(2, true))
    .then(orderFact('AttemptFailed', { attempt: 1, reason: "The seller could not connect to the buyer's node", blamed: false }))
})

test("a failed last attempt does not close the order while an earlier seller's outpoint is pending", () => {
  const third = [
    ...sellerReplacedFacts,
    orderFact('AttemptFailed', { attempt: 2, reason: 'late', blamed: true }),
    orderFact('AttemptStarted', { attempt: 3, candidate: createCandidate(3) }),
    orderFact('ChannelOpenRequested', { attempt: 3, openBefore: 9000 }),
    orderFact('UnreachableReported', { attempt: 3, reason: 'x' }),
  ]
  const failureReason = "The seller could not connect to the buyer's node"
  const failed = orderFact('AttemptFailed', { attempt: 3, reason: failureReason, blamed: true })
  const late = orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: one, attestation: null })
  given(orderDecider, ...third, late)
    .when(reach(4, true))
    .then(failed)
  given(orderDecider, ...third)
    .when(reach(4, true))
    .then(
      failed,
      orderFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: failureReason, blamed: true, by: null }),
    )
})
