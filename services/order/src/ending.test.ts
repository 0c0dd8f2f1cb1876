import { given } from '@penstock/testkit/given.ts'
import { outpointOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { asked, held, issued, replaced, started } from './samples.contract.ts'

const two = outpointOf(2)
const closed = [...asked, fact('AdminClosed', { by: 'ops', reason: 'asked to' })]

test('whose channel it was is in the fact that says what became of it', () => {
  const second = [
    ...replaced,
    fact('OutpointOffered', { attempt: 2, outpoint: two, attestation: null }),
    fact('OutpointClaimed', { attempt: 2, outpoint: two }),
    fact('OutpointNamed', { attempt: 2, outpoint: two }),
  ]
  const cancelled = (verdict: 'wrong' | 'spent' | 'unconfirmed') =>
    ({ type: 'RecordHoldCancelled', data: { reason: 'last-height', verdict, sentence: 'x' } }) as const
  given(order, ...second)
    .when(cancelled('unconfirmed'))
    .then(fact('SellerFailedToSendSwap', { attempt: 2, reason: 'x', lastHeight: true }))
  given(order, ...second)
    .when(cancelled('wrong'))
    .then(fact('InvalidChannelOpening', { attempt: 2, reason: 'x', blamed: true, lastHeight: true }))
  // Who spent the output is not known.
  given(order, ...second)
    .when(cancelled('spent'))
    .then(fact('InvalidChannelOpening', { attempt: 2, reason: 'x', blamed: false, lastHeight: true }))
  const valid = [
    fact('ChannelOpened', { outpoint: two, confirmations: 3 }),
    fact('SettlingStarted', { outpoint: two, lastHeight: false }),
    fact('OrderValid', { settledAt: 1 }),
  ]
  given(order, ...second, ...valid)
    .when({ type: 'RecordLeaseEnded', data: { outpoint: two, early: false, closedBy: null } })
    .then(fact('MonitoringFinished', { attempt: 2, early: false, closedBy: null }))
})

test('an invoice that expires closes the order, and looks for no seller when a payment still arrives', () => {
  const expiring = { type: 'RecordHoldExpiring', data: { reason: 'not paid in time' } } as const
  const closing = fact('ReleaseRequested', { to: 'BUYER_FAILED_TO_PAY', reason: 'not paid in time', blamed: false, by: null })
  given(order, ...issued)
    .when(expiring)
    .then(closing)
  for (const history of [held, [...issued, closing], closed])
    given(order, ...history)
      .when(expiring)
      .then()
  const paid = { type: 'RecordHoldHeld', data: { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' } } as const
  given(order, ...issued, closing)
    .when(paid)
    .then(fact('LateNoted', { what: 'payment-held', detail: null }))
  const over = { type: 'RecordHoldCancelled', data: { reason: 'expired', verdict: null, sentence: 'x' } } as const
  given(order, ...issued, closing)
    .when(over)
    .then(fact('BuyerFailedToPay', { reason: 'not paid in time' }))
  for (const history of [held, started, asked])
    given(order, ...history)
      .when(over)
      .then(fact('BuyerFailedToPay', { reason: 'x' }))
})

test('a payment that the node gave back by itself is told as one that ran out, as at the last height', () => {
  const cancelled = (reason: 'node' | 'last-height' | 'released') =>
    ({ type: 'RecordHoldCancelled', data: { reason, verdict: null, sentence: 'x' } }) as const
  const closing = { to: 'SELLER_FAILED_TO_OPEN_CHANNEL', reason: 'late', blamed: false, by: null } as const
  for (const reason of ['node', 'last-height', 'released'] as const) {
    const lastHeight = reason !== 'released'
    given(order, ...asked)
      .when(cancelled(reason))
      .then(fact('SellerFailedToOpenChannel', { reason: 'x', blamed: false, lastHeight }))
    given(order, ...asked, fact('ReleaseRequested', closing))
      .when(cancelled(reason))
      .then(fact('SellerFailedToOpenChannel', { reason: 'late', blamed: false, lastHeight }))
  }
})
