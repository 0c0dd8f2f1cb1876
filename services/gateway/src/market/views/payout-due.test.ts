import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import * as given from '../../../../settlement/src/samples.fixture.ts'
import { settlementDecider } from '../../../../settlement/src/settlement.decide.ts'
import type { EnrichedSettlementCommand } from '../../../../settlement/src/state.ts'
import { type HoldView, evolveHoldView } from './hold-view.ts'
import { isInvoiceDue, getDueToBuyerMsat } from './payout-due.ts'

const ID = '00000000-0000-4000-8000-0000000000aa'
const [H1, H2, H3] = ['01', '02', '03'].map((byte) => byte.repeat(32)) as [string, string, string]

/** Appends the facts that the decider of settlement returns for these commands. */
const after = (facts: readonly SettlementFact[], ...commands: readonly Pick<EnrichedSettlementCommand, 'type' | 'data'>[]) =>
  commands.reduce<readonly SettlementFact[]>((history, command) => {
    // The tests below write the type and the data of one command.
    const decision = settlementDecider.decide(fold(settlementDecider, history), {
      id: 'c',
      at: given.NOW,
      ...command,
    } as EnrichedSettlementCommand)
    return 'facts' in decision ? [...history, ...decision.facts] : assert.fail(JSON.stringify(decision))
  }, facts)
const submit = (paymentHash: string, more: given.InvoiceChange = {}): Pick<EnrichedSettlementCommand, 'type' | 'data'>[] => [
  { type: 'SubmitPayoutInvoice', data: { ...given.makePayoutInvoice({ paymentHash, ...more }), network: 'regtest' } },
  { type: 'RecordPayhash', data: { paymentHash, granted: true, ...given.sampleFeeLimit } },
]
const release = given.guardCommand(906, given.sampleEvidence({ tipHeight: 906 }))
const failPayout = (attempt: number, status: 'NO_ROUTE' | 'SELLER_INVOICE_EXPIRED' | 'PAYMENT_REJECTED_BY_DESTINATION') =>
  ({ type: 'RecordPayout', data: { state: 'failed', attempt, status, reason: 'It failed.', ...given.sampleFeeLimit } }) as const
const breakPromise = { type: 'RecordPromiseBroken', data: { sentence: 'It takes higher fees.', height: 950 } } as const

const viewOf = (facts: readonly SettlementFact[]): HoldView => {
  const view = facts.reduce<HoldView | undefined>(
    (before, fact, revision) =>
      evolveHoldView(before, {
        id: `${revision}`,
        category: 'settlement',
        aggregateId: ID,
        revision,
        position: 0n,
        at: 7,
        commandId: '',
        correlation: ID,
        fact,
      }),
    undefined,
  )
  // A row stores the view as JSON, which must lose no data.
  assert.deepEqual(JSON.parse(JSON.stringify(view)), view)
  return view ?? assert.fail()
}
const shown = (facts: readonly SettlementFact[]) => {
  const { owed, payout } = viewOf(facts)
  return [isInvoiceDue(owed), payout?.state ?? null, payout?.failure ?? null] as const
}

describe('an invoice of the seller', () => {
  const taken = after(given.settledHistory, ...submit(H1))
  const requested = after(taken, release)

  test('is not due before the settlement of the payment and its ledger posting', () => {
    assert.deepEqual(shown(given.settlingHistory), [false, null, null])
    assert.deepEqual(shown([...given.settlingHistory, given.holdSettledFact]), [false, 'OPEN', null])
    assert.deepEqual(shown(given.settledHistory), [true, 'OPEN', null])
  })
  test('is not due once an invoice is accepted, before or after the settlement', () => {
    assert.deepEqual(shown(taken), [false, 'OPEN', null])
    assert.deepEqual(shown(after(given.heldHistory, ...submit(H1))), [false, null, null])
    const early = [...after(given.heldHistory, ...submit(H1)), ...given.settledHistory.slice(given.heldHistory.length)]
    assert.deepEqual(shown(early), [false, 'OPEN', null])
  })
  test('is due while an invoice is only submitted, or refused', () => {
    const offered = after(given.settledHistory, ...submit(H1).slice(0, 1))
    assert.deepEqual(shown(offered), [true, 'OPEN', null])
    const refused = { type: 'RecordPayhash', data: { paymentHash: H1, granted: false, ...given.sampleFeeLimit } } as const
    assert.deepEqual(shown(after(offered, refused)), [true, 'OPEN', null])
  })
  test.each(['SELLER_INVOICE_EXPIRED', 'PAYMENT_REJECTED_BY_DESTINATION'] as const)('is due after %s', (status) => {
    assert.deepEqual(shown(requested), [false, 'REQUESTED', null])
    assert.deepEqual(shown(after(requested, failPayout(1, status))), [true, 'FAILED', status])
  })
  test('is not due while a retry may succeed', () => {
    const failed = after(requested, failPayout(1, 'NO_ROUTE'))
    assert.deepEqual(shown(failed), [false, 'FAILED', 'NO_ROUTE'])
    // A repeated record of the same invoice changes nothing.
    assert.deepEqual(shown([...failed, given.settlementFact('PayoutInvoiceAccepted', { paymentHash: H1 })]), [
      false,
      'FAILED',
      'NO_ROUTE',
    ])
  })
  test('is not due if another invoice is accepted after a failure, also while the payout is withheld', () => {
    const expired = after(requested, failPayout(1, 'SELLER_INVOICE_EXPIRED'))
    assert.deepEqual(shown(after(expired, ...submit(H2))), [false, 'REQUESTED', null])
    const withheld = after(expired, breakPromise)
    assert.deepEqual(shown(withheld), [true, 'WITHHELD', 'SELLER_INVOICE_EXPIRED'])
    const replaced = viewOf(after(withheld, ...submit(H2)))
    assert.deepEqual(
      [isInvoiceDue(replaced.owed), replaced.payout?.state, replaced.payout?.failure, replaced.payout?.reason],
      [false, 'WITHHELD', null, 'It takes higher fees.'],
    )
  })
  test('is due after the payment of a second accepted invoice failed', () => {
    const both = after(requested, ...submit(H2))
    assert.deepEqual(shown(both), [false, 'REQUESTED', null])
    // The payment of the first invoice is abandoned, and the payment of the second is requested at once.
    const second = after(both, failPayout(1, 'NO_ROUTE'))
    assert.deepEqual(shown(second), [false, 'REQUESTED', null])
    assert.deepEqual(shown(after(second, failPayout(2, 'SELLER_INVOICE_EXPIRED'))), [true, 'FAILED', 'SELLER_INVOICE_EXPIRED'])
  })
  test('is due if the accepted invoice has another amount or another node', () => {
    assert.deepEqual(shown(after(given.settledHistory, ...submit(H1, { amountMsat: 3_000_000n }))), [true, 'OPEN', null])
    assert.deepEqual(shown(after(given.settledHistory, ...submit(H1, { by: 9 }))), [true, 'OPEN', null])
    const right = after(given.settledHistory, ...submit(H1, { amountMsat: 3_000_000n }), ...submit(H3))
    assert.deepEqual(shown(right), [false, 'OPEN', null])
    assert.deepEqual(shown(after(right, ...submit(H2, { by: 9 }))), [false, 'OPEN', null])
  })
  test('is not due after the payout', () => {
    const paid = {
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 1, feeMsat: '12', ...given.sampleFeeLimit },
    } as const
    assert.deepEqual(shown(after(requested, paid)), [false, 'SUCCEEDED', null])
  })
})

describe('a late fact', () => {
  test.each([
    ['an issued invoice', [given.holdRequestedFact, given.cancelRequestedFact, given.holdIssuedFact], 'cancelling'],
    ['a payment', [given.holdRequestedFact, given.holdIssuedFact, given.cancelRequestedFact, given.holdHeldFact], 'cancelling'],
    [
      'an issued invoice after the cancellation',
      [given.holdRequestedFact, given.cancelRequestedFact, given.holdCancelledFact, given.holdIssuedFact],
      'cancelled',
    ],
    [
      'a payment after the cancellation',
      [...given.openHistory, given.cancelRequestedFact, given.holdCancelledFact, given.holdHeldFact],
      'cancelled',
    ],
  ] as const)('of %s does not undo the release', (_, facts, status) => {
    assert.deepEqual([viewOf(facts).status, fold(settlementDecider, facts).hold.status], [status, status])
  })
  test('of a cancellation after a missed settlement has its reason', () => {
    const over = given.settlementFact('HoldCancelled', {
      at: 9,
      reason: 'last-height',
      verdict: null,
      sentence: 'Too few blocks were left.',
    })
    const view = viewOf([...given.settlingHistory, given.settlementMissedFact, over])
    assert.deepEqual([view.status, view.reason], ['cancelled', 'Too few blocks were left.'])
  })
})

test('a share that is owed to the buyer needs an invoice of the buyer, not of the seller', () => {
  const closed = [
    ...given.settledHistory,
    given.settlementFact('PayableClosed', { height: 1912, reason: 'The funding is gone.' }),
    given.settlementFact('LedgerPosted', {
      posting: 'owed-to-buyer',
      entries: [
        { account: 'payable', amountMsat: `${given.SELLER_MSAT}` },
        { account: 'owed-to-buyer', amountMsat: `-${given.SELLER_MSAT}` },
      ],
    }),
  ]
  assert.equal(isInvoiceDue(viewOf(closed).owed), false)
  assert.equal(getDueToBuyerMsat(viewOf(closed).owed), given.SELLER_MSAT)
  assert.equal(getDueToBuyerMsat(viewOf(given.settledHistory).owed), undefined)
  const buyersInvoice = {
    ...given.makePayoutInvoice({ by: 5, paymentHash: H2 }),
    network: 'regtest' as const,
    proof: '',
    isProven: true,
  }
  const taken = after(
    closed,
    { type: 'SubmitRefundInvoice', data: buyersInvoice },
    { type: 'RecordPayhash', data: { paymentHash: H2, granted: true, ...given.sampleFeeLimit } },
  )
  assert.equal(getDueToBuyerMsat(viewOf(taken).owed), undefined)
  assert.equal(viewOf(taken).payout?.state, 'REQUESTED')
})
