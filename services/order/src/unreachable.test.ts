import { given } from '@penstock/testkit/given.ts'
import { candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { asked, replaced, started } from './samples.contract.ts'

const one = outpointOf(1)
const unreachable = {
  type: 'Cancel',
  data: { by: candidateOf(1).sellerAccountId, reason: 'UNABLE_TO_CONNECT_TO_NODE' },
} as const
const reported = [
  ...asked,
  fact('UnreachableReported', { attempt: 1, reason: "The seller cannot connect to the buyer's node; ours tries it" }),
]
const reach = (look: number, reached: boolean) =>
  ({ type: 'RecordBuyerReach', data: { look, reached, reason: 'The node does not answer.', height: 100 } }) as const

test("whoever cannot connect to the buyer's node is blamed only if ours can", () => {
  given(order, ...asked)
    .when(unreachable)
    .then(...reported.slice(asked.length))
  given(order, ...reported)
    .when(unreachable)
    .then()
  given(order, ...started)
    .when(unreachable)
    .refuses('BUSY')
  // our node does not get through either: the payment goes back, and nobody is to blame
  given(order, ...reported)
    .when(reach(2, false))
    .then(
      fact('ReleaseRequested', {
        to: 'SELLER_FAILED_TO_OPEN_CHANNEL',
        reason: 'The node does not answer.',
        blamed: false,
        by: null,
      }),
    )
  const couldNot = "The seller could not connect to the buyer's node"
  given(order, ...reported)
    .when(reach(2, true))
    .then(fact('AttemptFailed', { attempt: 1, reason: couldNot, blamed: true }))
  // the look before the attempt, told twice, says nothing about this one
  given(order, ...reported)
    .when(reach(1, true))
    .then()
  // and the window does not pass meanwhile
  given(order, ...reported)
    .when({ type: 'LapseOpening', data: { attempt: 1, deadline: 5000 } })
    .then()
  // a seller that names an outpoint got through
  given(order, ...reported, fact('OutpointOffered', { attempt: 1, outpoint: one, attestation: null }))
    .when(reach(2, false))
    .then()
})

test('a seller is taken at its word where nobody gave an address of the buyer', () => {
  const terms = orderTermsOf()
  const placed = fact('OrderPlaced', { ...terms, destination: { ...terms.destination, sockets: [] }, approveBefore: null })
  given(order, placed, ...reported.slice(1))
    .when(reach(2, true))
    .then(fact('AttemptFailed', { attempt: 1, reason: "The seller could not connect to the buyer's node", blamed: false }))
})

test("the last seller's report, while an earlier one's outpoint is being looked at, closes nothing", () => {
  const third = [
    ...replaced,
    fact('AttemptFailed', { attempt: 2, reason: 'late', blamed: true }),
    fact('AttemptStarted', { attempt: 3, candidate: candidateOf(3) }),
    fact('OpeningAsked', { attempt: 3, openBefore: 9000 }),
    fact('UnreachableReported', { attempt: 3, reason: 'x' }),
  ]
  const couldNot = "The seller could not connect to the buyer's node"
  const failed = fact('AttemptFailed', { attempt: 3, reason: couldNot, blamed: true })
  const late = fact('LateOutpointOffered', { attempt: 1, outpoint: one, attestation: null })
  given(order, ...third, late)
    .when(reach(4, true))
    .then(failed)
  given(order, ...third)
    .when(reach(4, true))
    .then(failed, fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: couldNot, blamed: true, by: null }))
})
