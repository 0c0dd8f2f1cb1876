import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import { given } from '@penstock/testkit/given.ts'
import {
  createAttestation,
  buyerAccountId,
  createCandidate,
  createOrderTerms,
  createOutpoint,
  strangerAccountId,
} from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { orderDecider } from './order.ts'
import { refuseNotFound } from './refusal.ts'
import {
  openRequestedFacts,
  paymentHeldFacts,
  invoiceIssuedFacts,
  outpointAcceptedFacts,
  outpointSubmittedFacts,
  acceptedFacts,
  attemptStartedFacts,
} from './order-facts.fixture.ts'

const [one, two] = [createOutpoint(1), createOutpoint(2)]
const seller = createCandidate(1).sellerAccountId
const other = createCandidate(2).sellerAccountId
const manual: readonly OrderFact[] = [orderFact('OrderPlaced', { ...createOrderTerms(true), approveBefore: 1000 })]
const fundingSeen = [...outpointAcceptedFacts, orderFact('FundingSeenRecorded', { outpoint: one })]
const opened = [...fundingSeen, orderFact('ChannelOpened', { outpoint: one, confirmations: 3 })]
const settling = [...opened, orderFact('SettlingStarted', { outpoint: one, lastHeight: false })]
const valid = [...settling, orderFact('OrderValid', { settledAt: 1 })]
const closing = [
  ...openRequestedFacts,
  orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }),
]
const closed = [...closing, orderFact('AdminClosed', { by: 'ops', reason: 'asked to' })]
const replaced = [
  ...openRequestedFacts,
  orderFact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
  orderFact('AttemptStarted', { attempt: 2, candidate: createCandidate(2) }),
  orderFact('ChannelOpenRequested', { attempt: 2, openBefore: 9000 }),
]

const name = (outpoint: string, by = seller, attested: string | null = null) =>
  ({
    type: 'SubmitOutpoint',
    data: { by, outpoint, attestation: attested === null ? null : createAttestation(attested) },
  }) as const
const cancel = (by: string) => ({ type: 'Cancel', data: { by, reason: 'no' } }) as const
const record = { id: strangerAccountId, hash: 'ab'.repeat(32) }
const rejected = orderFact('SellerRejected', { reason: 'The seller rejected the order', record })
const reject = (by: string) => ({ type: 'Reject', data: { by, record } }) as const
const accept = (by: string) => ({ type: 'Accept', data: { by, request: 'ln', network: 'regtest' } }) as const
const withdraw = { type: 'Withdraw', data: { reason: 'too slow' } } as const
const operator = { type: 'CloseByOperator', data: { by: 'ops', reason: 'asked to' } } as const

test('an order that was never placed is not found, and reports about it add no facts', () => {
  for (const request of [name(one), cancel(buyerAccountId), reject(seller), accept(seller), withdraw, operator])
    given(orderDecider).when(request).refuses('NOT_FOUND')
  given(orderDecider)
    .when({ type: 'RecordHoldRefused', data: { reason: 'late' } })
    .then()
  assert.equal(refuseNotFound().refused.message, 'Order not found')
})

test('an outpoint with an output index above 65535 is refused', () => {
  const [txid = ''] = one.split(':')
  given(orderDecider, ...openRequestedFacts)
    .when(name(`${txid}:65536`))
    .refuses('MALFORMED')
  given(orderDecider, ...openRequestedFacts)
    .when(name(`${txid}:65535`))
    .then(orderFact('OutpointSubmitted', { attempt: 1, outpoint: `${txid}:65535`, attestation: null }))
})

test("another account's order is refused like an unknown order", () => {
  for (const history of [manual, invoiceIssuedFacts, openRequestedFacts, outpointAcceptedFacts, valid, closed])
    for (const request of [
      name(one, strangerAccountId),
      cancel(strangerAccountId),
      reject(strangerAccountId),
      accept(strangerAccountId),
    ])
      given(orderDecider, ...history)
        .when(request)
        .refuses('NOT_FOUND')
  // The buyer is no seller of the order, and neither is a seller without an attempt.
  given(orderDecider, ...openRequestedFacts)
    .when(accept(buyerAccountId))
    .refuses('NOT_FOUND')
  given(orderDecider, ...openRequestedFacts)
    .when(name(one, buyerAccountId))
    .refuses('NOT_FOUND')
  given(orderDecider, ...openRequestedFacts)
    .when(name(one, other))
    .refuses('NOT_FOUND')
})

test('the buyer may cancel only before the payment is held', () => {
  given(orderDecider, ...manual)
    .when(cancel(buyerAccountId))
    .then(orderFact('BuyerRejected', { reason: 'no' }))
  given(orderDecider, ...invoiceIssuedFacts)
    .when(cancel(buyerAccountId))
    .then(orderFact('ReleaseRequested', { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null }))
  for (const history of [paymentHeldFacts, openRequestedFacts, outpointAcceptedFacts, settling])
    given(orderDecider, ...history)
      .when(cancel(buyerAccountId))
      .refuses('HELD')
  given(orderDecider, ...openRequestedFacts)
    .when(withdraw)
    .refuses('HELD')
  given(orderDecider, ...valid)
    .when(cancel(buyerAccountId))
    .refuses('ENDED')
  given(orderDecider, ...closing)
    .when(cancel(buyerAccountId))
    .refuses('CLOSING')
  given(orderDecider, ...manual, orderFact('BuyerRejected', { reason: 'no' }))
    .when(cancel(buyerAccountId))
    .then()
})

test('a seller may give up its attempt once, and only before it submits an outpoint', () => {
  given(orderDecider, ...openRequestedFacts)
    .when(cancel(seller))
    .then(orderFact('AttemptFailed', { attempt: 1, reason: 'no', blamed: true }))
  given(orderDecider, ...replaced)
    .when(cancel(seller))
    .then()
  given(orderDecider, ...outpointSubmittedFacts)
    .when(cancel(seller))
    .refuses('BUSY')
  given(orderDecider, ...outpointAcceptedFacts)
    .when(cancel(seller))
    .refuses('NOT_NOW')
  given(orderDecider, ...invoiceIssuedFacts)
    .when(cancel(seller))
    .refuses('NOT_NOW')
  given(orderDecider, ...closing)
    .when(cancel(seller))
    .refuses('CLOSING')
  given(orderDecider, ...valid)
    .when(cancel(seller))
    .refuses('ENDED')
})

test('a seller may reject an order only before it accepts', () => {
  given(orderDecider, ...manual)
    .when(reject(seller))
    .then(rejected)
  given(orderDecider, ...manual, rejected)
    .when(reject(seller))
    .then()
  given(orderDecider, ...acceptedFacts)
    .when(reject(seller))
    .refuses('NOT_NOW')
  given(orderDecider, ...closing)
    .when(reject(seller))
    .refuses('CLOSING')
  given(orderDecider, ...closed)
    .when(reject(seller))
    .refuses('ENDED')
})

test('an operator may close an order until it is settling', () => {
  given(orderDecider, ...manual)
    .when(operator)
    .then(orderFact('AdminClosed', { by: 'ops', reason: 'asked to' }))
  for (const history of [outpointAcceptedFacts, opened])
    given(orderDecider, ...history)
      .when(operator)
      .refuses('BEARS_LOSS')
  const bears = { ...operator, data: { ...operator.data, bearsLoss: true as const } }
  for (const [history, command] of [
    ...[invoiceIssuedFacts, paymentHeldFacts, openRequestedFacts].map((unnamed) => [unnamed, operator] as const),
    ...[outpointAcceptedFacts, opened].map((after) => [after, bears] as const),
  ])
    given(orderDecider, ...history)
      .when(command)
      .then(orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }))
  given(orderDecider, ...settling)
    .when(operator)
    .refuses('SETTLING')
  given(orderDecider, ...valid)
    .when(operator)
    .refuses('ENDED')
  given(orderDecider, ...closing)
    .when(operator)
    .then()
  given(orderDecider, ...closed)
    .when(operator)
    .then()
  const withdrawn = [
    ...invoiceIssuedFacts,
    orderFact('ReleaseRequested', { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null }),
  ]
  given(orderDecider, ...withdrawn)
    .when(operator)
    .refuses('CLOSING')
})

test('only the seller of the live attempt may submit an outpoint, and only after it was asked to open', () => {
  given(orderDecider, ...openRequestedFacts)
    .when(name(one))
    .then(orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation: null }))
  given(orderDecider, ...openRequestedFacts)
    .when(name(one.toUpperCase().replace('X', 'x')))
    .then(orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation: null }))
  for (const bad of ['nonsense', one.slice(0, -2), `${'zz'.repeat(32)}:0`, `${one}x`])
    given(orderDecider, ...openRequestedFacts)
      .when(name(bad))
      .refuses('MALFORMED')
  given(orderDecider, ...openRequestedFacts)
    .when(name(one, seller, two))
    .refuses('MALFORMED')
  given(orderDecider, ...invoiceIssuedFacts)
    .when(name(one))
    .refuses('NOT_NOW')
  given(orderDecider, ...attemptStartedFacts)
    .when(name(one))
    .refuses('BUSY')
  given(orderDecider, ...outpointSubmittedFacts)
    .when(name(two))
    .refuses('BUSY')
  given(orderDecider, ...fundingSeen)
    .when(name(two))
    .refuses('NOT_NOW')
  given(orderDecider, ...closing)
    .when(name(one))
    .refuses('CLOSING')
  given(orderDecider, ...closed)
    .when(name(one))
    .refuses('ENDED')
  given(
    orderDecider,
    ...outpointSubmittedFacts,
    orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'it serves another order' }),
  )
    .when(name(one))
    .refuses('OUTPOINT_REFUSED')
})

test('an outpoint that serves another order, or that settlement refuses, is refused', () => {
  const claim = { type: 'RecordOutpointClaim', data: { attempt: 1, outpoint: one, granted: false } } as const
  given(orderDecider, ...outpointSubmittedFacts)
    .when(claim)
    .then(orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'This outpoint serves another order' }))
  const note = {
    type: 'RecordOutpointRegistered',
    data: {
      attempt: 1,
      outpoint: one,
      registered: false,
      attested: false,
      reason: 'not paid enough',
      tooLate: false,
      outpointNumber: 0,
    },
  } as const
  given(orderDecider, ...outpointSubmittedFacts, orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: one }))
    .when(note)
    .then(orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'not paid enough' }))
})

test('a repeated submission of an outpoint succeeds at any time, even after the end', () => {
  const ended = [
    ...outpointAcceptedFacts,
    orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
    orderFact('AdminClosed', { by: 'ops', reason: 'x' }),
  ]
  for (const history of [outpointSubmittedFacts, outpointAcceptedFacts, fundingSeen, opened, settling, valid, ended])
    given(orderDecider, ...history)
      .when(name(one))
      .then()
})

test('one attestation may follow the outpoint', () => {
  const attestationGiven = orderFact('AttestationGiven', { attempt: 1, outpoint: one, attestation: createAttestation(one) })
  for (const history of [outpointSubmittedFacts, outpointAcceptedFacts, fundingSeen, opened]) {
    given(orderDecider, ...history)
      .when(name(one, seller, one))
      .then(attestationGiven)
    given(orderDecider, ...history, attestationGiven)
      .when(name(one, seller, one))
      .then()
  }
  const another = {
    type: 'SubmitOutpoint',
    data: { by: seller, outpoint: one, attestation: createAttestation(one, 1, { reserveSat: '5' }) },
  } as const
  given(orderDecider, ...outpointAcceptedFacts, attestationGiven)
    .when(another)
    .refuses('OUTPOINT_REFUSED')
  given(orderDecider, ...valid)
    .when(name(one, seller, one))
    .then()
})

test('a faulty attestation is refused, and a valid attestation may follow', () => {
  const wrong: readonly (readonly [AttestationData, RegExp])[] = [
    [{ ...createAttestation(one), signature: 'd'.repeat(104) }, /signature must be/],
    [createAttestation(one, 2, { nodeKeys: createAttestation(one).nodeKeys }), /signature must be/],
    [{ ...createAttestation(one), reserveSat: '1' }, /signature must be/],
    [createAttestation(one, 1, { capacitySat: '999999' }), /capacity must be at least 1000000/],
    [createAttestation(one, 1, { nodeKeys: createAttestation(one, 2).nodeKeys }), /node_keys must be/],
    [createAttestation(one, 1, { pushSat: '5' }), /push_sats must be 0/],
  ]
  for (const [attestation, sentence] of wrong)
    for (const history of [openRequestedFacts, replaced, outpointSubmittedFacts, outpointAcceptedFacts, fundingSeen]) {
      const command = { type: 'SubmitOutpoint', data: { by: seller, outpoint: one, attestation } } as const
      given(orderDecider, ...history)
        .when(command)
        .refuses('ATTESTATION_REFUSED')
      const state = history.reduce(orderDecider.evolve, orderDecider.initial)
      const decision = orderDecider.decide(state, { id: 'c', at: 1, ...command })
      assert.match('refused' in decision ? decision.refused.message : '', sentence)
    }
  given(orderDecider, ...openRequestedFacts)
    .when(name(one, seller, one))
    .then(orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation: createAttestation(one) }))
})

test('a replaced seller may still submit an outpoint while its successor has submitted none', () => {
  given(orderDecider, ...replaced)
    .when(name(one))
    .then(orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: one, attestation: null }))
  const successor = [...replaced, orderFact('OutpointSubmitted', { attempt: 2, outpoint: two, attestation: null })]
  given(orderDecider, ...successor)
    .when(name(one))
    .refuses('BUSY')
  given(
    orderDecider,
    ...successor,
    orderFact('OutpointClaimedRecorded', { attempt: 2, outpoint: two }),
    orderFact('OutpointAccepted', { attempt: 2, outpoint: two }),
  )
    .when(name(one))
    .refuses('REPLACED')
})

test('an order refuses another outpoint after 50 outpoints', () => {
  const fiftyRefused = Array.from({ length: 50 }, (_, index) => {
    const outpoint = `${'a'.repeat(64)}:${index}`
    return [
      orderFact('OutpointSubmitted', { attempt: 1, outpoint, attestation: null }),
      orderFact('OutpointRefused', { attempt: 1, outpoint, reason: 'no' }),
    ]
  }).flat()
  given(orderDecider, ...openRequestedFacts, ...fiftyRefused)
    .when(name(two))
    .refuses('TOO_MANY')
})
