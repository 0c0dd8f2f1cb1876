import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import {
  holdCancelledFact,
  cancelRequestedFact,
  sampleEvidence,
  settlementFact,
  guardCommand,
  type InvoiceChange,
  NOW,
  makePayoutInvoice,
  heldHistory,
  registeredHistory,
  settledHistory,
} from '../samples.fixture.ts'
import {
  payoutRequestedFact,
  payoutFailedFact,
  sellerInvoice,
  invoiceSubmittedFact,
  paymentHash,
  payoutReleasedFact,
  invoiceAcceptedFact,
  payingHistory,
} from './payout-samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'

describe('the seller’s invoice', () => {
  const give = (change: object = {}) =>
    ({ type: 'SubmitPayoutInvoice', data: { ...sellerInvoice, network: 'regtest' as const, ...change } }) as const
  const refusal = (change: object, history = heldHistory, at = NOW): string => {
    const { decision } = given(settlementDecider, ...history).when(give(change), at)
    if (!('facts' in decision) || decision.facts[0]?.type !== 'PayoutInvoiceRefused')
      throw new Error(`expected a refusal, got ${JSON.stringify(decision)}`)
    return decision.facts[0].data.reason
  }
  test('is accepted in every status before the end of the hold', () => {
    for (const history of [[], heldHistory, registeredHistory, settledHistory])
      given(settlementDecider, ...history)
        .when(give(), NOW)
        .then(invoiceSubmittedFact)
  })
  test('gets the same answer when it is submitted again, and counts once', () => {
    given(settlementDecider, invoiceSubmittedFact).when(give(), NOW).then()
    given(settlementDecider, invoiceSubmittedFact, invoiceAcceptedFact).when(give(), NOW).then(invoiceAcceptedFact)
    const waits = [...payingHistory, payoutFailedFact('NO_ROUTE', NOW + 15_000)]
    given(settlementDecider, ...waits)
      .when(give(), NOW)
      .then(invoiceAcceptedFact)
    expect(given(settlementDecider, ...waits, invoiceAcceptedFact).state).toEqual(given(settlementDecider, ...waits).state)
  })
  test('is refused when it is submitted again and cannot be paid', () => {
    const no = settlementFact('PayoutInvoiceRefused', { paymentHash, reason: 'x' })
    const next = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = [
      settlementFact('PayoutInvoiceSubmitted', next),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: next.paymentHash }),
    ]
    for (const history of [
      [no],
      [invoiceSubmittedFact, no],
      [invoiceSubmittedFact, invoiceAcceptedFact, ...nextTaken],
      [...payingHistory, payoutFailedFact('SELLER_INVOICE_EXPIRED', null)],
    ])
      expect(refusal({}, history)).toContain('given before')
    const another = makePayoutInvoice({ createdAt: NOW + 1000 })
    expect(another.paymentHash).toBe(paymentHash)
    for (const history of [[invoiceSubmittedFact], [invoiceSubmittedFact, invoiceAcceptedFact]])
      expect(refusal(another, history)).toContain('given before')
    // The payout still goes to the invoice that was accepted first.
    expect(
      given(settlementDecider, ...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact, no).when(
        guardCommand(906, sampleEvidence({ tipHeight: 906 })),
      ).decision,
    ).toMatchObject({
      facts: [payoutReleasedFact, payoutRequestedFact],
    })
  })
  test.each<[string, InvoiceChange, object, string]>([
    ['network', { network: 'mainnet' }, {}, 'is for mainnet'],
    ['amount', { amountMsat: 1n }, { amountMsat: sellerInvoice.amountMsat }, 'exact amount'],
    ['payee', { by: 2 }, { payee: sellerInvoice.payee }, 'not of the node'],
    ['hash', {}, { paymentHash: '00'.repeat(32) }, 'another payment hash'],
    ['text', {}, { request: 'lnbc nonsense' }, 'no payment request'],
    ['expiry', { createdAt: NOW - 500_000_000 }, {}, 'has expired'],
  ])('is refused for its %s', (_, change, claimed, reason) =>
    expect(refusal({ ...makePayoutInvoice(change), ...claimed })).toContain(reason),
  )
  test('is refused if no payout will follow', () => {
    expect(refusal({}, [...heldHistory, cancelRequestedFact])).toContain('released')
    expect(refusal({}, [...heldHistory, cancelRequestedFact, holdCancelledFact])).toContain('released')
    const other = makePayoutInvoice({ paymentHash: '77'.repeat(32) })
    expect(
      refusal(other, [...payingHistory, settlementFact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '0' })]),
    ).toContain('paid out already')
  })
})
