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
  noted,
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
  test('a peer proof is not needed twice', () => {
    given(settlement, ...toSettled)
      .when(guard(906, evidence({ tipHeight: 906, graph: null })))
      .then(releasedAt)
  })
  test('a spend in the mempool is waited for', () => {
    given(settlement, ...toSettled)
      .when(guard(906, evidence({ tipHeight: 906 }, { spentBy: { txid: 'ee'.repeat(32), height: null } })))
      .then()
  })
  test('withheld: until the announcement, or its height', () => {
    const weak = fact('SettleRequested', { proof: { ...proof, peer: 'probe', withheld: true }, lastHeight: false })
    const withheld = [...toNoted, settleAsked, weak, settled, posted, fact('PayoutWithheld', { reason: 'x', untilHeight: 1911 })]
    const probed = { graph: null, probe: 'reached' as const }
    given(settlement, ...withheld)
      .when(guard(1910, evidence({ tipHeight: 1910, ...probed })))
      .then()
    expect(given(settlement, ...withheld).when(guard(1911, evidence({ tipHeight: 1911, ...probed }))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }],
    })
    expect(given(settlement, ...withheld).when(guard(906, evidence({ tipHeight: 906 }))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }],
    })
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

describe('what the chain takes back after settling', () => {
  const spent = (tipHeight: number) => evidence({ tipHeight }, { spentBy: { txid: 'ee'.repeat(32), height: 904 } })
  const spentNoted = [
    fact('IncidentNoted', { what: 'funding-spent', height: 904 }),
    fact('PayoutWithheld', { reason: 'x', untilHeight: 1912 }),
  ]
  test('a spend is noted once and withholds the payout', () => {
    expect(given(settlement, ...toSettled).when(guard(904, spent(904))).decision).toMatchObject({
      facts: [
        { type: 'IncidentNoted', data: { what: 'funding-spent', height: 904 } },
        { type: 'PayoutWithheld', data: { untilHeight: 1912 } },
      ],
    })
    given(settlement, ...toSettled, ...spentNoted)
      .when(guard(906, spent(906)))
      .then()
    given(settlement, ...toSettled, ...spentNoted)
      .when(guard(906, evidence({ tipHeight: 906 })))
      .then()
    expect(given(settlement, ...toSettled, ...spentNoted).when(guard(1912, spent(1912))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }],
    })
    given(settlement, ...toSettled, ...spentNoted, releasedAt)
      .when(guard(1913, spent(1913)))
      .then()
  })
  test('it comes too late for a payout that is under way', () =>
    given(settlement, ...toPaying)
      .when(guard(907, spent(907)))
      .then())
  test('a payout that still waits for an invoice is withheld again', () => {
    expect(given(settlement, ...toSettled, releasedAt).when(guard(907, spent(907))).decision).toMatchObject({
      facts: [{ type: 'IncidentNoted' }, { type: 'PayoutWithheld' }],
    })
  })
  const gone = (tipHeight: number) => evidence({ tipHeight, output: null, graph: null })
  const reorged = [
    fact('IncidentNoted', { what: 'funding-reorged', height: 904 }),
    fact('PayoutWithheld', { reason: 'x', untilHeight: 910 }),
  ]
  test('a re-org is an incident, and over once the funding is buried again', () => {
    expect(given(settlement, ...toSettled).when(guard(904, gone(904))).decision).toMatchObject({
      facts: [
        { type: 'IncidentNoted', data: { what: 'funding-reorged' } },
        { type: 'PayoutWithheld', data: { untilHeight: 910 } },
      ],
    })
    given(settlement, ...toSettled, ...reorged)
      .when(guard(905, gone(905)))
      .then()
    given(settlement, ...toSettled, ...reorged)
      .when(guard(909, evidence({ tipHeight: 909 }, { height: 905 })))
      .then()
    given(settlement, ...toSettled, ...reorged)
      .when(guard(909, evidence({ tipHeight: 909, graph: null }, { height: 904 })))
      .then()
    given(settlement, ...toSettled, ...reorged)
      .when(guard(909, evidence({ tipHeight: 909 }, { height: 904 })))
      .then(fact('PayoutReleased', { atHeight: 909, confirmations: 6 }))
    given(settlement, ...toSettled, ...reorged)
      .when(guard(911, evidence({ tipHeight: 911 }, { height: 906 })))
      .then(fact('PayoutReleased', { atHeight: 911, confirmations: 6 }))
    expect(given(settlement, ...toSettled, ...reorged, releasedAt).when(guard(912, gone(912))).decision).toMatchObject({
      facts: [{ type: 'IncidentNoted' }, {}],
    })
  })
  test('a longer wait stays as long as it was', () => {
    const long = fact('PayoutWithheld', { reason: 'x', untilHeight: 5000 })
    expect(given(settlement, ...toSettled, long).when(guard(904, gone(904))).decision).toMatchObject({
      facts: [{}, { data: { untilHeight: 5000 } }],
    })
  })
  test('terms that turn out to be broken are noted', () => {
    const bad = { ...noted.terms, capacitySat: '1000001' }
    const history = [...toSettled, fact('OutpointNoted', { ...noted, terms: bad })]
    expect(given(settlement, ...history).when(guard(904, evidence({ tipHeight: 904 }))).decision).toMatchObject({
      facts: [{ data: { what: 'terms-broken' } }, { data: { untilHeight: 1912 } }],
    })
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
      fact('PayoutWithheld', { reason: 'x', untilHeight: 913 }),
    ]
    given(settlement, ...waits)
      .when(retry(NOW + 15_000))
      .then()
    expect(given(settlement, ...waits).when(guard(914, evidence({ tipHeight: 914 }))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }, { type: 'PayoutRequested', data: { attempt: 2 } }],
    })
  })
})
