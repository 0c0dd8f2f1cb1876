import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import {
  sampleEvidence,
  settlementFact,
  guardCommand,
  sampleFeeLimit,
  NOW,
  makePayoutInvoice,
  heldHistory,
  registeredHistory,
  settledHistory,
} from '../samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'

const invoice = makePayoutInvoice()
const { paymentHash } = invoice
const invoiceSubmitted = settlementFact('PayoutInvoiceSubmitted', invoice)
const invoiceAccepted = settlementFact('PayoutInvoiceAccepted', { paymentHash })
const released = settlementFact('PayoutReleased', { atHeight: 906, confirmations: 6 })
const requested = settlementFact('PayoutRequested', { attempt: 1, paymentHash, request: invoice.request, maxFeeMsat: '20000' })
const failed = settlementFact('PayoutFailed', { attempt: 1, paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: NOW + 15_000 })
const toPaying = [...settledHistory, invoiceSubmitted, invoiceAccepted, released, requested]

describe('a promise that the seller breaks during the lease', () => {
  const broken = { type: 'RecordPromiseBroken', data: { sentence: 'The seller takes too much.', height: 910 } } as const
  const withheld = [
    settlementFact('IncidentRecorded', { what: 'promise-broken', height: 910 }),
    settlementFact('PayoutWithheld', { cause: 'promise', reason: 'The seller takes too much.', untilHeight: 1918 }),
  ] as const
  test('withholds the unpaid payout once', () => {
    for (const history of [settledHistory, [...settledHistory, released], toPaying]) {
      given(settlementDecider, ...history)
        .when(broken)
        .then(...withheld)
      given(settlementDecider, ...history, ...withheld)
        .when(broken)
        .then()
    }
    given(settlementDecider, ...settledHistory, invoiceSubmitted, invoiceAccepted, ...withheld)
      .when(guardCommand(1917, sampleEvidence({ tipHeight: 1917 })))
      .then()
    expect(
      given(settlementDecider, ...settledHistory, invoiceSubmitted, invoiceAccepted, ...withheld).when(
        guardCommand(1918, sampleEvidence({ tipHeight: 1918 })),
      ).decision,
    ).toMatchObject({ facts: [{ type: 'WithholdingLifted' }, { type: 'PayoutReleased' }, { type: 'PayoutRequested' }] })
  })
  test('does not stop a payment that is in progress, but prevents its retry', () => {
    const { decision } = given(settlementDecider, ...toPaying, ...withheld).when(
      { type: 'RecordPayout', data: { state: 'failed', attempt: 1, status: 'NO_ROUTE', reason: 'x', ...sampleFeeLimit } },
      NOW,
    )
    expect(decision).toEqual({ facts: [failed] })
    given(settlementDecider, ...toPaying, ...withheld, failed)
      .when({ type: 'RetryPayout', data: { deadline: NOW + 15_000, ...sampleFeeLimit } })
      .then()
  })
  test('adds no fact if no payout is owed', () => {
    for (const history of [
      [],
      heldHistory,
      registeredHistory,
      [...toPaying, settlementFact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '0' })],
    ])
      given(settlementDecider, ...history)
        .when(broken)
        .then()
  })
})
