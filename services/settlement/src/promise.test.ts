import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { evidence, fact, guard, limit, NOW, payoutInvoice, toHeld, toNoted, toSettled } from './samples.contract.ts'
import { settlement } from './settlement.ts'

const invoice = payoutInvoice()
const { paymentHash } = invoice
const offered = fact('PayoutInvoiceOffered', invoice)
const taken = fact('PayoutInvoiceTaken', { paymentHash })
const released = fact('PayoutReleased', { atHeight: 906, confirmations: 6 })
const asked = fact('PayoutRequested', { attempt: 1, paymentHash, request: invoice.request, maxFeeMsat: '20000' })
const failed = fact('PayoutFailed', { attempt: 1, paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: NOW + 15_000 })
const toPaying = [...toSettled, offered, taken, released, asked]

describe('a promise that the seller breaks during the lease', () => {
  const broken = { type: 'RecordPromiseBroken', data: { sentence: 'The seller takes too much.', height: 910 } } as const
  const withheld = [
    fact('IncidentNoted', { what: 'promise-broken', height: 910 }),
    fact('PayoutWithheld', { cause: 'promise', reason: 'The seller takes too much.', untilHeight: 1918 }),
  ] as const
  test('withholds what is still owed, once', () => {
    for (const history of [toSettled, [...toSettled, released], toPaying]) {
      given(settlement, ...history)
        .when(broken)
        .then(...withheld)
      given(settlement, ...history, ...withheld)
        .when(broken)
        .then()
    }
    given(settlement, ...toSettled, offered, taken, ...withheld)
      .when(guard(1917, evidence({ tipHeight: 1917 })))
      .then()
    expect(
      given(settlement, ...toSettled, offered, taken, ...withheld).when(guard(1918, evidence({ tipHeight: 1918 }))).decision,
    ).toMatchObject({ facts: [{ type: 'WithholdingLifted' }, { type: 'PayoutReleased' }, { type: 'PayoutRequested' }] })
  })
  test('a payment that is under way goes on, and is not tried again if it fails', () => {
    const { decision } = given(settlement, ...toPaying, ...withheld).when(
      { type: 'RecordPayout', data: { state: 'failed', attempt: 1, status: 'NO_ROUTE', reason: 'x', ...limit } },
      NOW,
    )
    expect(decision).toEqual({ facts: [failed] })
    given(settlement, ...toPaying, ...withheld, failed)
      .when({ type: 'RetryPayout', data: { deadline: NOW + 15_000, ...limit } })
      .then()
  })
  test('says nothing where nothing is owed', () => {
    for (const history of [
      [],
      toHeld,
      toNoted,
      [...toPaying, fact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '0' })],
    ])
      given(settlement, ...history)
        .when(broken)
        .then()
  })
})
