import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { paymentHashClaimDecider } from '../payment-hash-claim.ts'
import {
  payoutRequestedFact,
  payoutFailedFact,
  invoiceSubmittedFact,
  paymentHash,
  payoutReleasedFact,
  invoiceAcceptedFact,
  payingHistory,
} from './payout-samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'
import {
  sampleEvidence,
  settlementFact,
  guardCommand,
  sampleFeeLimit,
  NOW,
  makePayoutInvoice,
  ledgerPostedFact,
  proof,
  SELLER_MSAT,
  settlementWantedFact,
  holdSettledFact,
  registeredHistory,
  settledHistory,
} from '../samples.fixture.ts'

describe('the claim of a payment hash', () => {
  const record = (granted: boolean) => ({ type: 'RecordPayhash', data: { paymentHash, granted, ...sampleFeeLimit } }) as const
  test('is granted or refused once', () => {
    given(settlementDecider, invoiceSubmittedFact).when(record(true)).then(invoiceAcceptedFact)
    expect(given(settlementDecider, invoiceSubmittedFact).when(record(false)).decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceRefused', data: { paymentHash } }],
    })
    given(settlementDecider, invoiceSubmittedFact, invoiceAcceptedFact).when(record(true)).then()
    given(settlementDecider, invoiceSubmittedFact, invoiceAcceptedFact).when(record(false)).then()
    given(settlementDecider).when(record(true)).then()
  })
  test('starts a payout that waited for the invoice', () => {
    given(settlementDecider, ...settledHistory, payoutReleasedFact, invoiceSubmittedFact)
      .when(record(true))
      .then(invoiceAcceptedFact, payoutRequestedFact)
    given(settlementDecider, ...settledHistory, invoiceSubmittedFact)
      .when(record(true))
      .then(invoiceAcceptedFact)
  })
  test('does not replace a newer invoice whose claim was answered first', () => {
    const next = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = settlementFact('PayoutInvoiceAccepted', { paymentHash: next.paymentHash })
    const both = [invoiceSubmittedFact, settlementFact('PayoutInvoiceSubmitted', next)]
    const replaced = settlementFact('PayoutInvoiceRefused', { paymentHash, reason: 'It was replaced by a newer one.' })
    given(settlementDecider, ...both, nextTaken)
      .when(record(true))
      .then(replaced)
    given(settlementDecider, ...settledHistory, ...both, nextTaken, replaced)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
      .then(
        payoutReleasedFact,
        settlementFact('PayoutRequested', {
          attempt: 1,
          paymentHash: next.paymentHash,
          request: next.request,
          maxFeeMsat: '20000',
        }),
      )
    // If claims are answered in order, each invoice replaces the same seller's previous invoice.
    given(settlementDecider, ...both)
      .when(record(true))
      .then(invoiceAcceptedFact)
    given(settlementDecider, ...both, invoiceAcceptedFact)
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...sampleFeeLimit } })
      .then(nextTaken)
    const others = makePayoutInvoice({ by: 2, paymentHash: '03'.repeat(32) })
    const othersTaken = settlementFact('PayoutInvoiceAccepted', { paymentHash: others.paymentHash })
    given(settlementDecider, invoiceSubmittedFact, settlementFact('PayoutInvoiceSubmitted', others), othersTaken)
      .when(record(true))
      .then(invoiceAcceptedFact)
    // A newer invoice that its own node has refused does not count.
    const gone = settlementFact('PayoutFailed', {
      ...payoutFailedFact('SELLER_INVOICE_EXPIRED', null).data,
      paymentHash: next.paymentHash,
    })
    const sent = settlementFact('PayoutRequested', {
      ...payoutRequestedFact.data,
      paymentHash: next.paymentHash,
      request: next.request,
    })
    given(settlementDecider, ...settledHistory, ...both, nextTaken, payoutReleasedFact, sent, gone)
      .when(record(true))
      .then(invoiceAcceptedFact, settlementFact('PayoutRequested', { ...payoutRequestedFact.data, attempt: 2 }))
  })
  const [one, two] = ['018f3c1e-0000-7000-8000-000000000001', '018f3c1e-0000-7000-8000-000000000002']
  test('is granted to the first order, and refused once to each other order', () => {
    const claim = (orderId: string) => ({ type: 'ClaimPayhash', data: { orderId } }) as const
    const claimed = { type: 'PayhashClaimed', v: 1, data: { orderId: one } } as const
    const no = { type: 'PayhashRefused', v: 1, data: { orderId: two } } as const
    given(paymentHashClaimDecider).when(claim(one)).then(claimed)
    given(paymentHashClaimDecider, claimed).when(claim(one)).then()
    given(paymentHashClaimDecider, claimed).when(claim(two)).then(no)
    given(paymentHashClaimDecider, claimed, no).when(claim(two)).then()
  })
})

describe('a payout', () => {
  test('is released at six confirmations, and requested at once if there is an invoice', () => {
    given(settlementDecider, ...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact)
      .when(guardCommand(905, sampleEvidence({ tipHeight: 905 })))
      .then()
    given(settlementDecider, ...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
      .then(payoutReleasedFact, payoutRequestedFact)
    given(settlementDecider, ...settledHistory)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
      .then(payoutReleasedFact)
    given(settlementDecider, ...settledHistory, payoutReleasedFact)
      .when(guardCommand(907, sampleEvidence({ tipHeight: 907 })))
      .then()
  })
  test.each([SELLER_MSAT + 1n, SELLER_MSAT - 1n])(
    'is not requested to an invoice of another amount than is owed: %d msat',
    (amountMsat) => {
      const other = makePayoutInvoice({ amountMsat })
      given(settlementDecider, ...settledHistory, settlementFact('PayoutInvoiceSubmitted', other), invoiceAcceptedFact)
        .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
        .then(payoutReleasedFact)
    },
  )
  test('needs no second peer proof', () => {
    given(settlementDecider, ...settledHistory)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906, graph: null })))
      .then(payoutReleasedFact)
  })
  test('is withheld for a spend that was in the mempool at the last height, until the spend vanishes', () => {
    const spendWaited = settlementFact('SettlementStarted', {
      proof: { ...proof, peer: 'graph', withheld: true },
      lastHeight: true,
    })
    const settling = [...registeredHistory, settlementWantedFact, spendWaited]
    const { decision } = given(settlementDecider, ...settling).when({
      type: 'RecordSettled',
      data: { settledAt: holdSettledFact.data.settledAt, receivedMsat: holdSettledFact.data.receivedMsat },
    })
    expect(decision).toMatchObject({
      facts: [
        { type: 'HoldSettled' },
        { type: 'LedgerPosted' },
        { type: 'PayoutWithheld', data: { untilHeight: proof.tipHeight + 1008 } },
      ],
    })
    const withheld = [
      ...settling,
      holdSettledFact,
      ledgerPostedFact,
      settlementFact('PayoutWithheld', { cause: 'spend-unconfirmed', reason: 'x', untilHeight: 1911 }),
    ]
    const waits = { spentBy: { txid: 'ee'.repeat(32), height: null } }
    given(settlementDecider, ...withheld)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906 }, waits)))
      .then()
    given(settlementDecider, ...withheld)
      .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
      .then(settlementFact('WithholdingLifted', { cause: 'spend-unconfirmed', height: 906, how: 'gone' }), payoutReleasedFact)
  })
  test('is requested only for the exact amount, and only to the seller that opened', () => {
    for (const other of [makePayoutInvoice({ amountMsat: SELLER_MSAT - 1n }), makePayoutInvoice({ by: 2 })]) {
      const given_ = [
        settlementFact('PayoutInvoiceSubmitted', other),
        settlementFact('PayoutInvoiceAccepted', { paymentHash: other.paymentHash }),
      ]
      given(settlementDecider, ...settledHistory, ...given_)
        .when(guardCommand(906, sampleEvidence({ tipHeight: 906 })))
        .then(payoutReleasedFact)
    }
  })
  test('goes to the seller that opened the channel, and to its latest invoice', () => {
    const replaced = makePayoutInvoice({ by: 2, paymentHash: '01'.repeat(32) })
    const better = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const took = [replaced, better].flatMap((i) => [
      settlementFact('PayoutInvoiceSubmitted', i),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: i.paymentHash }),
    ])
    const { decision } = given(settlementDecider, ...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact, ...took).when(
      guardCommand(906, sampleEvidence({ tipHeight: 906 })),
    )
    expect(decision).toMatchObject({ facts: [{}, { type: 'PayoutRequested', data: { paymentHash: better.paymentHash } }] })
  })
  test('never has a routing fee above the platform’s fee', () => {
    const highLimit = { ...guardCommand(906, sampleEvidence({ tipHeight: 906 })).data, routingFeeLimitPpm: 1_000_000 }
    const { decision } = given(settlementDecider, ...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact).when({
      type: 'Guard',
      data: highLimit,
    })
    expect(decision).toMatchObject({ facts: [{}, { data: { maxFeeMsat: '900000' } }] })
  })
})

describe('the outcome of a payout', () => {
  const succeeded = {
    type: 'RecordPayout',
    data: { state: 'succeeded', attempt: 1, feeMsat: '1000', ...sampleFeeLimit },
  } as const
  const lost = (status: 'NO_ROUTE' | 'PAYMENT_REJECTED_BY_DESTINATION' | 'SELLER_INVOICE_EXPIRED', attempt = 1) =>
    ({ type: 'RecordPayout', data: { state: 'failed', attempt, status, reason: 'x', ...sampleFeeLimit } }) as const
  const retry = (deadline: number) => ({ type: 'RetryPayout', data: { deadline, ...sampleFeeLimit } }) as const

  test('is recorded as paid once, with its ledger posting', () => {
    const paid = settlementFact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '1000' })
    const { decision } = given(settlementDecider, ...payingHistory).when(succeeded)
    expect(decision).toMatchObject({ facts: [paid, { type: 'LedgerPosted', data: { posting: 'payout' } }] })
    given(settlementDecider, ...payingHistory, paid)
      .when(succeeded)
      .then()
    given(settlementDecider, ...settledHistory)
      .when(succeeded)
      .then()
    given(settlementDecider, ...payingHistory)
      .when({ ...succeeded, data: { ...succeeded.data, attempt: 2 } })
      .then()
  })
  test('may be a payment to another invoice of the order, by an earlier attempt', () => {
    const other = { ...makePayoutInvoice(), paymentHash: 'cd'.repeat(32) }
    const both = [...payingHistory.slice(0, -1), settlementFact('PayoutInvoiceSubmitted', other), payoutRequestedFact]
    const paidOtherwise = (hash: string) => ({ ...succeeded, data: { ...succeeded.data, paymentHash: hash } })
    const paid = settlementFact('PayoutSucceeded', { attempt: 1, paymentHash: other.paymentHash, feeMsat: '1000' })
    const { decision } = given(settlementDecider, ...both).when(paidOtherwise(other.paymentHash))
    expect(decision).toMatchObject({ facts: [paid, { type: 'LedgerPosted', data: { posting: 'payout' } }] })
    expect(() => given(settlementDecider, ...payingHistory).when(paidOtherwise(other.paymentHash)).decision).toThrow(
      'an invoice of this order',
    )
  })
  test('leads to retries with growing delays if no route is found', () => {
    given(settlementDecider, ...payingHistory)
      .when(lost('NO_ROUTE'), NOW)
      .then(payoutFailedFact('NO_ROUTE', NOW + 15_000))
    const secondRequest = settlementFact('PayoutRequested', { ...payoutRequestedFact.data, attempt: 2 })
    const history = [...payingHistory, payoutFailedFact('NO_ROUTE', NOW + 15_000)]
    given(settlementDecider, ...history)
      .when(lost('NO_ROUTE'), NOW)
      .then()
    given(settlementDecider, ...history)
      .when(retry(NOW + 15_000))
      .then(secondRequest)
    given(settlementDecider, ...history)
      .when(retry(NOW))
      .then()
    given(settlementDecider, ...history, secondRequest)
      .when(retry(NOW + 15_000))
      .then()
    given(settlementDecider, ...history, secondRequest)
      .when(lost('NO_ROUTE', 2), NOW)
      .then(payoutFailedFact('NO_ROUTE', NOW + 30_000, 2))
    const far = settlementFact('PayoutRequested', { ...payoutRequestedFact.data, attempt: 30 })
    given(settlementDecider, ...history, far)
      .when(lost('NO_ROUTE', 30), NOW)
      .then(payoutFailedFact('NO_ROUTE', NOW + 6 * 3_600_000, 30))
  })
  test.each(['NO_ROUTE', 'PAYMENT_REJECTED_BY_DESTINATION'] as const)(
    'is followed at once by a payment to a newer invoice after %s',
    (status) => {
      const next = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
      const replaced = [
        ...payingHistory,
        settlementFact('PayoutInvoiceSubmitted', next),
        settlementFact('PayoutInvoiceAccepted', { paymentHash: next.paymentHash }),
      ]
      given(settlementDecider, ...replaced)
        .when(lost(status), NOW)
        .then(
          payoutFailedFact(status, null),
          settlementFact('PayoutRequested', {
            attempt: 2,
            paymentHash: next.paymentHash,
            request: next.request,
            maxFeeMsat: '20000',
          }),
        )
    },
  )
  test.each(['PAYMENT_REJECTED_BY_DESTINATION', 'SELLER_INVOICE_EXPIRED'] as const)('waits for a new invoice: %s', (status) => {
    const no = payoutFailedFact(status, null)
    given(settlementDecider, ...payingHistory)
      .when(lost(status), NOW)
      .then(no)
    given(settlementDecider, ...payingHistory, no)
      .when(retry(NOW))
      .then()
    given(settlementDecider, ...payingHistory, no)
      .when(guardCommand(999, sampleEvidence({ tipHeight: 999 })))
      .then()
    const next = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = settlementFact('PayoutInvoiceAccepted', { paymentHash: next.paymentHash })
    given(settlementDecider, ...payingHistory, no, settlementFact('PayoutInvoiceSubmitted', next))
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...sampleFeeLimit } })
      .then(
        nextTaken,
        settlementFact('PayoutRequested', {
          attempt: 2,
          paymentHash: next.paymentHash,
          request: next.request,
          maxFeeMsat: '20000',
        }),
      )
  })
  test('has to arrive before another invoice starts a second payment', () => {
    const next = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    given(settlementDecider, ...payingHistory, settlementFact('PayoutInvoiceSubmitted', next))
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...sampleFeeLimit } })
      .then(settlementFact('PayoutInvoiceAccepted', { paymentHash: next.paymentHash }))
  })
  test('leads to a new attempt at once if the payout is released after a failure', () => {
    const waits = [
      ...payingHistory,
      payoutFailedFact('NO_ROUTE', NOW + 15_000),
      settlementFact('IncidentRecorded', { what: 'funding-reorged', height: 907 }),
      settlementFact('PayoutWithheld', { cause: 'promise', reason: 'x', untilHeight: 913 }),
    ]
    given(settlementDecider, ...waits)
      .when(retry(NOW + 15_000))
      .then()
    expect(given(settlementDecider, ...waits).when(guardCommand(914, sampleEvidence({ tipHeight: 914 }))).decision).toMatchObject(
      {
        facts: [{ type: 'WithholdingLifted' }, { type: 'PayoutReleased' }, { type: 'PayoutRequested', data: { attempt: 2 } }],
      },
    )
  })
})
