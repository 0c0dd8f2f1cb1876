import { given } from '@penstock/testkit/given.ts'
import { createOutpoint } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { orderDecider } from './order.ts'
import {
  openRequestedFacts,
  paymentHeldFacts,
  invoiceIssuedFacts,
  sellerReplacedFacts,
  attemptStartedFacts,
} from './order-facts.fixture.ts'

const two = createOutpoint(2)
const closed = [...openRequestedFacts, orderFact('AdminClosed', { by: 'ops', reason: 'asked to' })]

test("each fact about a channel's end contains the attempt of that channel", () => {
  const second = [
    ...sellerReplacedFacts,
    orderFact('OutpointSubmitted', { attempt: 2, outpoint: two, attestation: null }),
    orderFact('OutpointClaimedRecorded', { attempt: 2, outpoint: two }),
    orderFact('OutpointAccepted', { attempt: 2, outpoint: two }),
  ]
  const cancelled = (verdict: 'wrong' | 'spent' | 'unconfirmed') =>
    ({ type: 'RecordHoldCancelled', data: { reason: 'last-height', verdict, sentence: 'x' } }) as const
  given(orderDecider, ...second)
    .when(cancelled('unconfirmed'))
    .then(orderFact('SellerFailedToSendSwap', { attempt: 2, reason: 'x', lastHeight: true }))
  given(orderDecider, ...second)
    .when(cancelled('wrong'))
    .then(orderFact('InvalidChannelOpening', { attempt: 2, reason: 'x', blamed: true, lastHeight: true }))
  // The chain does not show which party spent the output.
  given(orderDecider, ...second)
    .when(cancelled('spent'))
    .then(orderFact('InvalidChannelOpening', { attempt: 2, reason: 'x', blamed: false, lastHeight: true }))
  const valid = [
    orderFact('ChannelOpened', { outpoint: two, confirmations: 3 }),
    orderFact('SettlingStarted', { outpoint: two, lastHeight: false }),
    orderFact('OrderValid', { settledAt: 1 }),
  ]
  given(orderDecider, ...second, ...valid)
    .when({ type: 'RecordLeaseEnded', data: { outpoint: two, early: false, closedBy: null } })
    .then(orderFact('MonitoringFinished', { attempt: 2, early: false, closedBy: null }))
})

test('an expired invoice closes the order, and a payment that still arrives starts no search for a seller', () => {
  const expiring = { type: 'RecordHoldExpiring', data: { reason: 'not paid in time' } } as const
  const closing = orderFact('ReleaseRequested', {
    to: 'BUYER_FAILED_TO_PAY',
    reason: 'not paid in time',
    blamed: false,
    by: null,
  })
  given(orderDecider, ...invoiceIssuedFacts)
    .when(expiring)
    .then(closing)
  for (const history of [paymentHeldFacts, [...invoiceIssuedFacts, closing], closed])
    given(orderDecider, ...history)
      .when(expiring)
      .then()
  const paid = { type: 'RecordHoldHeld', data: { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' } } as const
  given(orderDecider, ...invoiceIssuedFacts, closing)
    .when(paid)
    .then(orderFact('LateMessageRecorded', { what: 'payment-held', detail: null }))
  const over = { type: 'RecordHoldCancelled', data: { reason: 'expired', verdict: null, sentence: 'x' } } as const
  given(orderDecider, ...invoiceIssuedFacts, closing)
    .when(over)
    .then(orderFact('BuyerFailedToPay', { reason: 'not paid in time' }))
  for (const history of [paymentHeldFacts, attemptStartedFacts, openRequestedFacts])
    given(orderDecider, ...history)
      .when(over)
      .then(orderFact('BuyerFailedToPay', { reason: 'x' }))
})

test('a cancellation by the node without a request is recorded like a cancellation at the last height', () => {
  const cancelled = (reason: 'node' | 'last-height' | 'released') =>
    ({ type: 'RecordHoldCancelled', data: { reason, verdict: null, sentence: 'x' } }) as const
  const closing = { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: 'late', blamed: false, by: null } as const
  for (const reason of ['node', 'last-height', 'released'] as const) {
    const lastHeight = reason !== 'released'
    given(orderDecider, ...openRequestedFacts)
      .when(cancelled(reason))
      .then(orderFact('SellerFailedToOpenChannel', { reason: 'x', blamed: false, lastHeight }))
    given(orderDecider, ...openRequestedFacts, orderFact('ReleaseRequested', closing))
      .when(cancelled(reason))
      .then(orderFact('SellerFailedToOpenChannel', { reason: 'late', blamed: false, lastHeight }))
  }
})
