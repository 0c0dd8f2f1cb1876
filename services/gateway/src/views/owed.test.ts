import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import * as given from '../../../settlement/src/samples.contract.ts'
import { settlement } from '../../../settlement/src/settlement.ts'
import type { SettlementCommand } from '../../../settlement/src/state.ts'
import { type HoldView, holdView } from './hold-view.ts'
import { isInvoiceDue, owedToBuyerMsat } from './owed.ts'

const ID = '00000000-0000-4000-8000-0000000000aa'
const [H1, H2, H3] = ['01', '02', '03'].map((byte) => byte.repeat(32)) as [string, string, string]

/** What follows from commands, as settlement itself decides. */
const after = (facts: readonly SettlementFact[], ...commands: readonly Pick<SettlementCommand, 'type' | 'data'>[]) =>
  commands.reduce<readonly SettlementFact[]>((told, command) => {
    // The type and the data of one command, as it is written below.
    const decision = settlement.decide(fold(settlement, told), { id: 'c', at: given.NOW, ...command } as SettlementCommand)
    return 'facts' in decision ? [...told, ...decision.facts] : assert.fail(JSON.stringify(decision))
  }, facts)
const gives = (paymentHash: string, more: given.InvoiceChange = {}): Pick<SettlementCommand, 'type' | 'data'>[] => [
  { type: 'GivePayoutInvoice', data: { ...given.payoutInvoice({ paymentHash, ...more }), network: 'regtest' } },
  { type: 'RecordPayhash', data: { paymentHash, granted: true, ...given.limit } },
]
const release = given.guard(906, given.evidence({ tipHeight: 906 }))
const lost = (attempt: number, status: 'NO_ROUTE' | 'SELLER_INVOICE_EXPIRED' | 'PAYMENT_REJECTED_BY_DESTINATION') =>
  ({ type: 'RecordPayout', data: { state: 'failed', attempt, status, reason: 'It failed.', ...given.limit } }) as const
const broken = { type: 'RecordPromiseBroken', data: { sentence: 'It takes higher fees.', height: 950 } } as const

const viewOf = (facts: readonly SettlementFact[]): HoldView => {
  const view = facts.reduce<HoldView | undefined>(
    (before, fact, revision) =>
      holdView(before, {
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
  // What a row keeps is JSON: nothing may be lost on the way.
  assert.deepEqual(JSON.parse(JSON.stringify(view)), view)
  return view ?? assert.fail()
}
const shown = (facts: readonly SettlementFact[]) => {
  const { owed, payout } = viewOf(facts)
  return [isInvoiceDue(owed), payout?.state ?? null, payout?.failure ?? null] as const
}

describe('the seller is asked for an invoice when settlement waits for one', () => {
  const taken = after(given.toSettled, ...gives(H1))
  const requested = after(taken, release)

  test('nothing is owed before the payment is settled, nor without the posting', () => {
    assert.deepEqual(shown(given.toSettling), [false, null, null])
    assert.deepEqual(shown([...given.toSettling, given.settled]), [false, 'OPEN', null])
    assert.deepEqual(shown(given.toSettled), [true, 'OPEN', null])
  })
  test('an invoice that was given, early or late, is enough', () => {
    assert.deepEqual(shown(taken), [false, 'OPEN', null])
    assert.deepEqual(shown(after(given.toHeld, ...gives(H1))), [false, null, null])
    const early = [...after(given.toHeld, ...gives(H1)), ...given.toSettled.slice(given.toHeld.length)]
    assert.deepEqual(shown(early), [false, 'OPEN', null])
  })
  test('one that was only offered, or refused, is not', () => {
    const offered = after(given.toSettled, ...gives(H1).slice(0, 1))
    assert.deepEqual(shown(offered), [true, 'OPEN', null])
    const refused = { type: 'RecordPayhash', data: { paymentHash: H1, granted: false, ...given.limit } } as const
    assert.deepEqual(shown(after(offered, refused)), [true, 'OPEN', null])
  })
  test.each(['SELLER_INVOICE_EXPIRED', 'PAYMENT_REJECTED_BY_DESTINATION'] as const)('after %s', (status) => {
    assert.deepEqual(shown(requested), [false, 'REQUESTED', null])
    assert.deepEqual(shown(after(requested, lost(1, status))), [true, 'FAILED', status])
  })
  test('not while another try may find a way', () => {
    const failed = after(requested, lost(1, 'NO_ROUTE'))
    assert.deepEqual(shown(failed), [false, 'FAILED', 'NO_ROUTE'])
    // The same invoice told once more mends nothing.
    assert.deepEqual(shown([...failed, given.fact('PayoutInvoiceTaken', { paymentHash: H1 })]), [false, 'FAILED', 'NO_ROUTE'])
  })
  test('not when another one is there: it is being paid, or withheld like the first', () => {
    const expired = after(requested, lost(1, 'SELLER_INVOICE_EXPIRED'))
    assert.deepEqual(shown(after(expired, ...gives(H2))), [false, 'REQUESTED', null])
    const withheld = after(expired, broken)
    assert.deepEqual(shown(withheld), [true, 'WITHHELD', 'SELLER_INVOICE_EXPIRED'])
    const replaced = viewOf(after(withheld, ...gives(H2)))
    assert.deepEqual(
      [isInvoiceDue(replaced.owed), replaced.payout?.state, replaced.payout?.failure, replaced.payout?.reason],
      [false, 'WITHHELD', null, 'It takes higher fees.'],
    )
  })
  test('a second one that fails after the first was replaced', () => {
    const both = after(requested, ...gives(H2))
    assert.deepEqual(shown(both), [false, 'REQUESTED', null])
    // The first is given up for the second, which is sent at once.
    const second = after(both, lost(1, 'NO_ROUTE'))
    assert.deepEqual(shown(second), [false, 'REQUESTED', null])
    assert.deepEqual(shown(after(second, lost(2, 'SELLER_INVOICE_EXPIRED'))), [true, 'FAILED', 'SELLER_INVOICE_EXPIRED'])
  })
  test('one of another amount is no help, nor one of another node', () => {
    assert.deepEqual(shown(after(given.toSettled, ...gives(H1, { amountMsat: 3_000_000n }))), [true, 'OPEN', null])
    assert.deepEqual(shown(after(given.toSettled, ...gives(H1, { by: 9 }))), [true, 'OPEN', null])
    const right = after(given.toSettled, ...gives(H1, { amountMsat: 3_000_000n }), ...gives(H3))
    assert.deepEqual(shown(right), [false, 'OPEN', null])
    assert.deepEqual(shown(after(right, ...gives(H2, { by: 9 }))), [false, 'OPEN', null])
  })
  test('never after it was paid', () => {
    const paid = { type: 'RecordPayout', data: { state: 'succeeded', attempt: 1, feeMsat: '12', ...given.limit } } as const
    assert.deepEqual(shown(after(requested, paid)), [false, 'SUCCEEDED', null])
  })
})

describe('what comes late', () => {
  test.each([
    ['an invoice', [given.requested, given.cancelRequested, given.issued], 'cancelling'],
    ['a payment', [given.requested, given.issued, given.cancelRequested, given.isHeld], 'cancelling'],
    ['an invoice, after the end', [given.requested, given.cancelRequested, given.cancelled, given.issued], 'cancelled'],
    ['a payment, after the end', [...given.toOpen, given.cancelRequested, given.cancelled, given.isHeld], 'cancelled'],
  ] as const)('%s takes no release back', (_, facts, status) => {
    assert.deepEqual([viewOf(facts).status, fold(settlement, facts).hold.status], [status, status])
  })
  test('a payment that could not be taken in time says why it went back', () => {
    const over = given.fact('HoldCancelled', {
      at: 9,
      reason: 'last-height',
      verdict: null,
      sentence: 'Too few blocks were left.',
    })
    const view = viewOf([...given.toSettling, given.settleMissed, over])
    assert.deepEqual([view.status, view.reason], ['cancelled', 'Too few blocks were left.'])
  })
})

test('a share that goes back to the buyer waits for the buyer’s invoice, and for no other', () => {
  const closed = [
    ...given.toSettled,
    given.fact('PayableClosed', { height: 1912, reason: 'The funding is gone.' }),
    given.fact('LedgerPosted', {
      posting: 'owed-to-buyer',
      entries: [
        { account: 'payable', amountMsat: `${given.SELLER_MSAT}` },
        { account: 'owed-to-buyer', amountMsat: `-${given.SELLER_MSAT}` },
      ],
    }),
  ]
  assert.equal(isInvoiceDue(viewOf(closed).owed), false)
  assert.equal(owedToBuyerMsat(viewOf(closed).owed), given.SELLER_MSAT)
  assert.equal(owedToBuyerMsat(viewOf(given.toSettled).owed), undefined)
  const theirs = { ...given.payoutInvoice({ by: 5, paymentHash: H2 }), network: 'regtest' as const }
  const taken = after(
    closed,
    { type: 'GiveRefundInvoice', data: theirs },
    { type: 'RecordPayhash', data: { paymentHash: H2, granted: true, ...given.limit } },
  )
  assert.equal(owedToBuyerMsat(viewOf(taken).owed), undefined)
  assert.equal(viewOf(taken).payout?.state, 'REQUESTED')
})
