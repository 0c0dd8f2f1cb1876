import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { payhash } from './payhash.ts'
import { asked, failed, offered, paymentHash, releasedAt, taken, toPaying } from './payout-samples.contract.ts'
import { settlement } from './settlement.ts'
import {
  evidence,
  fact,
  guard,
  limit,
  NOW,
  payoutInvoice,
  posted,
  proof,
  SELLER_MSAT,
  settleAsked,
  settled,
  toNoted,
  toSettled,
} from './samples.contract.ts'

describe('the claim of its hash', () => {
  const record = (granted: boolean) => ({ type: 'RecordPayhash', data: { paymentHash, granted, ...limit } }) as const
  test('granted or refused, once', () => {
    given(settlement, offered).when(record(true)).then(taken)
    expect(given(settlement, offered).when(record(false)).decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceRefused', data: { paymentHash } }],
    })
    given(settlement, offered, taken).when(record(true)).then()
    given(settlement, offered, taken).when(record(false)).then()
    given(settlement).when(record(true)).then()
  })
  test('it is paid at once where the payout waited for it', () => {
    given(settlement, ...toSettled, releasedAt, offered)
      .when(record(true))
      .then(taken, asked)
    given(settlement, ...toSettled, offered)
      .when(record(true))
      .then(taken)
  })
  test('an older invoice does not take the place of a newer one whose claim was answered first', () => {
    const next = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = fact('PayoutInvoiceTaken', { paymentHash: next.paymentHash })
    const both = [offered, fact('PayoutInvoiceOffered', next)]
    const replaced = fact('PayoutInvoiceRefused', { paymentHash, reason: 'It was replaced by a newer one.' })
    given(settlement, ...both, nextTaken)
      .when(record(true))
      .then(replaced)
    given(settlement, ...toSettled, ...both, nextTaken, replaced)
      .when(guard(906, evidence({ tipHeight: 906 })))
      .then(
        releasedAt,
        fact('PayoutRequested', { attempt: 1, paymentHash: next.paymentHash, request: next.request, maxFeeMsat: '20000' }),
      )
    // In their order, each takes the place of the one before; another seller's is none of that.
    given(settlement, ...both)
      .when(record(true))
      .then(taken)
    given(settlement, ...both, taken)
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...limit } })
      .then(nextTaken)
    const others = payoutInvoice({ by: 2, paymentHash: '03'.repeat(32) })
    const othersTaken = fact('PayoutInvoiceTaken', { paymentHash: others.paymentHash })
    given(settlement, offered, fact('PayoutInvoiceOffered', others), othersTaken).when(record(true)).then(taken)
    // A newer one that its node refuses for good is no better.
    const gone = fact('PayoutFailed', { ...failed('SELLER_INVOICE_EXPIRED', null).data, paymentHash: next.paymentHash })
    const sent = fact('PayoutRequested', { ...asked.data, paymentHash: next.paymentHash, request: next.request })
    given(settlement, ...toSettled, ...both, nextTaken, releasedAt, sent, gone)
      .when(record(true))
      .then(taken, fact('PayoutRequested', { ...asked.data, attempt: 2 }))
  })
  const [one, two] = ['018f3c1e-0000-7000-8000-000000000001', '018f3c1e-0000-7000-8000-000000000002']
  test('the first order has the hash, others are refused, each once', () => {
    const claim = (orderId: string) => ({ type: 'ClaimPayhash', data: { orderId } }) as const
    const claimed = { type: 'PayhashClaimed', v: 1, data: { orderId: one } } as const
    const no = { type: 'PayhashRefused', v: 1, data: { orderId: two } } as const
    given(payhash).when(claim(one)).then(claimed)
    given(payhash, claimed).when(claim(one)).then()
    given(payhash, claimed).when(claim(two)).then(no)
    given(payhash, claimed, no).when(claim(two)).then()
  })
})

describe('when it is due', () => {
  test('at six confirmations; with an invoice it is asked for at once', () => {
    given(settlement, ...toSettled, offered, taken)
      .when(guard(905, evidence({ tipHeight: 905 })))
      .then()
    given(settlement, ...toSettled, offered, taken)
      .when(guard(906, evidence({ tipHeight: 906 })))
      .then(releasedAt, asked)
    given(settlement, ...toSettled)
      .when(guard(906, evidence({ tipHeight: 906 })))
      .then(releasedAt)
    given(settlement, ...toSettled, releasedAt)
      .when(guard(907, evidence({ tipHeight: 907 })))
      .then()
  })
  test.each([SELLER_MSAT + 1n, SELLER_MSAT - 1n])(
    'an invoice of another amount than is owed is not paid: %d msat',
    (amountMsat) => {
      const other = payoutInvoice({ amountMsat })
      given(settlement, ...toSettled, fact('PayoutInvoiceOffered', other), taken)
        .when(guard(906, evidence({ tipHeight: 906 })))
        .then(releasedAt)
    },
  )
  test('a peer proof is not needed twice', () => {
    given(settlement, ...toSettled)
      .when(guard(906, evidence({ tipHeight: 906, graph: null })))
      .then(releasedAt)
  })
  test('withheld for a spend that waited at the last height: until the spend is gone', () => {
    const spendWaited = fact('SettleRequested', { proof: { ...proof, peer: 'graph', withheld: true }, lastHeight: true })
    const asked = [...toNoted, settleAsked, spendWaited]
    const { decision } = given(settlement, ...asked).when({
      type: 'RecordSettled',
      data: { settledAt: settled.data.settledAt, receivedMsat: settled.data.receivedMsat },
    })
    expect(decision).toMatchObject({
      facts: [
        { type: 'HoldSettled' },
        { type: 'LedgerPosted' },
        { type: 'PayoutWithheld', data: { untilHeight: proof.tipHeight + 1008 } },
      ],
    })
    const withheld = [
      ...asked,
      settled,
      posted,
      fact('PayoutWithheld', { cause: 'spend-unconfirmed', reason: 'x', untilHeight: 1911 }),
    ]
    const waits = { spentBy: { txid: 'ee'.repeat(32), height: null } }
    given(settlement, ...withheld)
      .when(guard(906, evidence({ tipHeight: 906 }, waits)))
      .then()
    given(settlement, ...withheld)
      .when(guard(906, evidence({ tipHeight: 906 })))
      .then(fact('WithholdingLifted', { cause: 'spend-unconfirmed', height: 906, how: 'gone' }), releasedAt)
  })
  test('only the exact amount, and only the seller that opened, is paid', () => {
    for (const other of [payoutInvoice({ amountMsat: SELLER_MSAT - 1n }), payoutInvoice({ by: 2 })]) {
      const given_ = [fact('PayoutInvoiceOffered', other), fact('PayoutInvoiceTaken', { paymentHash: other.paymentHash })]
      given(settlement, ...toSettled, ...given_)
        .when(guard(906, evidence({ tipHeight: 906 })))
        .then(releasedAt)
    }
  })
  test('of two sellers that gave invoices the one that opened is paid; of two of its invoices the later', () => {
    const replaced = payoutInvoice({ by: 2, paymentHash: '01'.repeat(32) })
    const better = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const took = [replaced, better].flatMap((i) => [
      fact('PayoutInvoiceOffered', i),
      fact('PayoutInvoiceTaken', { paymentHash: i.paymentHash }),
    ])
    const { decision } = given(settlement, ...toSettled, offered, taken, ...took).when(guard(906, evidence({ tipHeight: 906 })))
    expect(decision).toMatchObject({ facts: [{}, { type: 'PayoutRequested', data: { paymentHash: better.paymentHash } }] })
  })
  test('its way never costs more than the platform’s fee', () => {
    const dear = { ...guard(906, evidence({ tipHeight: 906 })).data, routingFeeLimitPpm: 1_000_000 }
    const { decision } = given(settlement, ...toSettled, offered, taken).when({ type: 'Guard', data: dear })
    expect(decision).toMatchObject({ facts: [{}, { data: { maxFeeMsat: '900000' } }] })
  })
})

describe('the outcome', () => {
  const succeeded = { type: 'RecordPayout', data: { state: 'succeeded', attempt: 1, feeMsat: '1000', ...limit } } as const
  const lost = (status: 'NO_ROUTE' | 'PAYMENT_REJECTED_BY_DESTINATION' | 'SELLER_INVOICE_EXPIRED', attempt = 1) =>
    ({ type: 'RecordPayout', data: { state: 'failed', attempt, status, reason: 'x', ...limit } }) as const
  const retry = (deadline: number) => ({ type: 'RetryPayout', data: { deadline, ...limit } }) as const

  test('paid once, with the books closed', () => {
    const paid = fact('PayoutSucceeded', { attempt: 1, paymentHash, feeMsat: '1000' })
    const { decision } = given(settlement, ...toPaying).when(succeeded)
    expect(decision).toMatchObject({ facts: [paid, { type: 'LedgerPosted', data: { posting: 'payout' } }] })
    given(settlement, ...toPaying, paid)
      .when(succeeded)
      .then()
    given(settlement, ...toSettled)
      .when(succeeded)
      .then()
    given(settlement, ...toPaying)
      .when({ ...succeeded, data: { ...succeeded.data, attempt: 2 } })
      .then()
  })
  test('paid to another invoice of the order, which an earlier try reached after all', () => {
    const other = { ...payoutInvoice(), paymentHash: 'cd'.repeat(32) }
    const both = [...toPaying.slice(0, -1), fact('PayoutInvoiceOffered', other), asked]
    const paidOtherwise = (hash: string) => ({ ...succeeded, data: { ...succeeded.data, paymentHash: hash } })
    const paid = fact('PayoutSucceeded', { attempt: 1, paymentHash: other.paymentHash, feeMsat: '1000' })
    const { decision } = given(settlement, ...both).when(paidOtherwise(other.paymentHash))
    expect(decision).toMatchObject({ facts: [paid, { type: 'LedgerPosted', data: { posting: 'payout' } }] })
    expect(() => given(settlement, ...toPaying).when(paidOtherwise(other.paymentHash)).decision).toThrow(
      'an invoice of this order',
    )
  })
  test('no way: tried again, with growing waits', () => {
    given(settlement, ...toPaying)
      .when(lost('NO_ROUTE'), NOW)
      .then(failed('NO_ROUTE', NOW + 15_000))
    const again = fact('PayoutRequested', { ...asked.data, attempt: 2 })
    const history = [...toPaying, failed('NO_ROUTE', NOW + 15_000)]
    given(settlement, ...history)
      .when(lost('NO_ROUTE'), NOW)
      .then()
    given(settlement, ...history)
      .when(retry(NOW + 15_000))
      .then(again)
    given(settlement, ...history)
      .when(retry(NOW))
      .then()
    given(settlement, ...history, again)
      .when(retry(NOW + 15_000))
      .then()
    given(settlement, ...history, again)
      .when(lost('NO_ROUTE', 2), NOW)
      .then(failed('NO_ROUTE', NOW + 30_000, 2))
    const far = fact('PayoutRequested', { ...asked.data, attempt: 30 })
    given(settlement, ...history, far)
      .when(lost('NO_ROUTE', 30), NOW)
      .then(failed('NO_ROUTE', NOW + 6 * 3_600_000, 30))
  })
  test.each(['NO_ROUTE', 'PAYMENT_REJECTED_BY_DESTINATION'] as const)(
    '%s: an invoice that came meanwhile is paid at once',
    (status) => {
      const next = payoutInvoice({ paymentHash: '02'.repeat(32) })
      const replaced = [
        ...toPaying,
        fact('PayoutInvoiceOffered', next),
        fact('PayoutInvoiceTaken', { paymentHash: next.paymentHash }),
      ]
      given(settlement, ...replaced)
        .when(lost(status), NOW)
        .then(
          failed(status, null),
          fact('PayoutRequested', { attempt: 2, paymentHash: next.paymentHash, request: next.request, maxFeeMsat: '20000' }),
        )
    },
  )
  test.each(['PAYMENT_REJECTED_BY_DESTINATION', 'SELLER_INVOICE_EXPIRED'] as const)('%s: waits for another invoice', (status) => {
    const no = failed(status, null)
    given(settlement, ...toPaying)
      .when(lost(status), NOW)
      .then(no)
    given(settlement, ...toPaying, no)
      .when(retry(NOW))
      .then()
    given(settlement, ...toPaying, no)
      .when(guard(999, evidence({ tipHeight: 999 })))
      .then()
    const next = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const nextTaken = fact('PayoutInvoiceTaken', { paymentHash: next.paymentHash })
    given(settlement, ...toPaying, no, fact('PayoutInvoiceOffered', next))
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...limit } })
      .then(
        nextTaken,
        fact('PayoutRequested', { attempt: 2, paymentHash: next.paymentHash, request: next.request, maxFeeMsat: '20000' }),
      )
  })
  test('another invoice does not begin a second payment beside the first', () => {
    const next = payoutInvoice({ paymentHash: '02'.repeat(32) })
    given(settlement, ...toPaying, fact('PayoutInvoiceOffered', next))
      .when({ type: 'RecordPayhash', data: { paymentHash: next.paymentHash, granted: true, ...limit } })
      .then(fact('PayoutInvoiceTaken', { paymentHash: next.paymentHash }))
  })
  test('a release after a failed attempt pays at once', () => {
    const waits = [
      ...toPaying,
      failed('NO_ROUTE', NOW + 15_000),
      fact('IncidentNoted', { what: 'funding-reorged', height: 907 }),
      fact('PayoutWithheld', { cause: 'promise', reason: 'x', untilHeight: 913 }),
    ]
    given(settlement, ...waits)
      .when(retry(NOW + 15_000))
      .then()
    expect(given(settlement, ...waits).when(guard(914, evidence({ tipHeight: 914 }))).decision).toMatchObject({
      facts: [{ type: 'WithholdingLifted' }, { type: 'PayoutReleased' }, { type: 'PayoutRequested', data: { attempt: 2 } }],
    })
  })
})
