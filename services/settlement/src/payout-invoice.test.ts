import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelled,
  cancelRequested,
  evidence,
  fact,
  guard,
  type InvoiceChange,
  NOW,
  payoutInvoice,
  toHeld,
  toNoted,
  toSettled,
} from './samples.contract.ts'
import { asked, failed, invoice, offered, paymentHash, releasedAt, taken, toPaying } from './payout-samples.contract.ts'
import { settlement } from './settlement.ts'

describe('the seller’s invoice', () => {
  const give = (change: object = {}) =>
    ({ type: 'GivePayoutInvoice', data: { ...invoice, network: 'regtest' as const, ...change } }) as const
  const refusal = (change: object, history = toHeld, at = NOW): string => {
    const { decision } = given(settlement, ...history).when(give(change), at)
    if (!('facts' in decision) || decision.facts[0]?.type !== 'PayoutInvoiceRefused')
      throw new Error(`expected a refusal, got ${JSON.stringify(decision)}`)
    return decision.facts[0].data.reason
  }
  test('is taken any time before the end, whatever the hold does', () => {
    for (const history of [[], toHeld, toNoted, toSettled])
      given(settlement, ...history)
        .when(give(), NOW)
        .then(offered)
  })
  test('given again it is answered as before, and counts once', () => {
    given(settlement, offered).when(give(), NOW).then()
    given(settlement, offered, taken).when(give(), NOW).then(taken)
    const waits = [...toPaying, failed('NO_ROUTE', NOW + 15_000)]
    given(settlement, ...waits)
      .when(give(), NOW)
      .then(taken)
    expect(given(settlement, ...waits, taken).state).toEqual(given(settlement, ...waits).state)
  })
  test('given again where it cannot be paid, it is refused', () => {
    const no = fact('PayoutInvoiceRefused', { paymentHash, reason: 'x' })
    const next = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = [fact('PayoutInvoiceOffered', next), fact('PayoutInvoiceTaken', { paymentHash: next.paymentHash })]
    for (const history of [
      [no],
      [offered, no],
      [offered, taken, ...nextTaken],
      [...toPaying, failed('SELLER_INVOICE_EXPIRED', null)],
    ])
      expect(refusal({}, history)).toContain('given before')
    const another = payoutInvoice({ createdAt: NOW + 1000 })
    expect(another.paymentHash).toBe(paymentHash)
    for (const history of [[offered], [offered, taken]]) expect(refusal(another, history)).toContain('given before')
    // What is paid stays what was taken first.
    expect(
      given(settlement, ...toSettled, offered, taken, no).when(guard(906, evidence({ tipHeight: 906 }))).decision,
    ).toMatchObject({
      facts: [releasedAt, asked],
    })
  })
  test.each<[string, InvoiceChange, object, string]>([
    ['network', { network: 'mainnet' }, {}, 'is for mainnet'],
    ['amount', { amountMsat: 1n }, { amountMsat: invoice.amountMsat }, 'exact amount'],
    ['payee', { by: 2 }, { payee: invoice.payee }, 'not of the node'],
    ['hash', {}, { paymentHash: '00'.repeat(32) }, 'another payment hash'],
    ['text', {}, { request: 'lnbc nonsense' }, 'no payment request'],
    ['expiry', { createdAt: NOW - 500_000_000 }, {}, 'has expired'],
  ])('is refused for its %s', (_, made, said, reason) => expect(refusal({ ...payoutInvoice(made), ...said })).toContain(reason))
  test('is refused where nothing will be paid', () => {
    expect(refusal({}, [...toHeld, cancelRequested])).toContain('released')
    expect(refusal({}, [...toHeld, cancelRequested, cancelled])).toContain('released')
    const other = payoutInvoice({ paymentHash: '77'.repeat(32) })
    expect(refusal(other, [...toPaying, fact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '0' })])).toContain(
      'paid out already',
    )
  })
})
