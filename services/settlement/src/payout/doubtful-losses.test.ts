import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import {
  E,
  guardCommand,
  heldHistory,
  holdSettledFact,
  ledgerPostedFact,
  makePayoutInvoice,
  node,
  NOW,
  OUTPOINT,
  proof,
  registeredHistory,
  registeredOutpoint,
  sampleEvidence,
  SELLER_MSAT,
  settledHistory,
  settlementFact,
} from '../samples.fixture.ts'
import type { EnrichedSettlementCommand } from '../state.ts'
import { settlementDecider } from '../settlement.decide.ts'
import { invoiceAcceptedFact, invoiceSubmittedFact } from './payout-samples.fixture.ts'

const decide = (history: readonly SettlementFact[], command: CommandBody<EnrichedSettlementCommand>) =>
  given(settlementDecider, ...history).when(command).decision
const factsOf = (decision: ReturnType<typeof decide>) => ('facts' in decision ? decision.facts : [])
const typesOf = (decision: ReturnType<typeof decide>) => factsOf(decision).map(({ type }) => type)

const cause = { reason: 'node', verdict: null, sentence: 'gone' } as const
const lostAfter = (...proven: readonly SettlementFact[]): readonly SettlementFact[] => [
  ...registeredHistory,
  ...proven,
  settlementFact('CancelRequested', cause),
  settlementFact('LossSearchStarted', { cause: 'node-gave-back', untilHeight: E + 1008 }),
  settlementFact('HoldCancelled', { ...cause, at: NOW }),
]
const graphProven = settlementFact('PeerProven', { outpoint: OUTPOINT, peer: 'graph', height: 910 })
const closedAt = (height: number) =>
  guardCommand(height, sampleEvidence({ tipHeight: height, graph: null }, { spentBy: { txid: 'ee'.repeat(32), height } }))

test('a close after the payment went back does not refute the loss of a channel that the graph had proven', () => {
  expect(typesOf(decide(lostAfter(graphProven), closedAt(E - 5)))).toContain('LossBorne')
  expect(typesOf(decide(lostAfter(), closedAt(E - 5)))).toEqual(['LossRefuted'])
})

test('a private channel that only the chain had proven is released by a later probe', () => {
  const terms = { ...registeredOutpoint.terms, isPrivate: true, rails: true }
  const history = [
    ...heldHistory,
    settlementFact('OutpointRegistered', { ...registeredOutpoint, terms }),
    settlementFact('SettlementStarted', { proof: { ...proof, peer: null, withheld: true }, lastHeight: true }),
    holdSettledFact,
    ledgerPostedFact,
    settlementFact('PayoutWithheld', { cause: 'peer-proof', reason: 'x', untilHeight: 1912 }),
    invoiceSubmittedFact,
    invoiceAcceptedFact,
  ]
  const look = (probe: 'reached' | 'not-reached') => guardCommand(910, sampleEvidence({ tipHeight: 910, graph: null, probe }))
  expect(typesOf(decide(history, look('reached')))).toContain('PayoutReleased')
  expect(typesOf(decide(history, look('not-reached')))).toEqual([])
})

const owedToBuyer: readonly SettlementFact[] = [
  ...settledHistory,
  settlementFact('PayableClosed', { height: 1912, reason: 'x' }),
  settlementFact('LedgerPosted', {
    posting: 'owed-to-buyer',
    entries: [
      { account: 'payable', amountMsat: `${SELLER_MSAT}` },
      { account: 'owed-to-buyer', amountMsat: `-${SELLER_MSAT}` },
    ],
  }),
]
const refund = (change: Parameters<typeof makePayoutInvoice>[0]) => {
  const { creditor: _, ...data } = makePayoutInvoice({ by: 7, ...change })
  return { type: 'SubmitRefundInvoice', at: NOW, data: { ...data, proof: '', isProven: true, network: 'regtest' } } as const
}

test('at most 50 wrong invoices for one debt become facts', () => {
  let history = owedToBuyer
  for (let n = 1; n <= 60; n++) {
    const wrong = refund({ amountMsat: 1000n, paymentHash: n.toString(16).padStart(64, '0') })
    history = [...history, ...factsOf(decide(history, wrong))]
  }
  expect(history.filter(({ type }) => type === 'PayoutInvoiceRefused')).toHaveLength(50)
  expect(decide(history, refund({}))).toMatchObject({ refused: { code: 'TOO_MANY_INVOICES' } })
})

test("an invoice of the market's own node is refused, because no node pays itself", () => {
  const own = makePayoutInvoice({ by: 3 })
  expect(own.payee).toBe(node)
  const reason = "The invoice is of the market's own node, which cannot pay itself; give another."
  expect(factsOf(decide(owedToBuyer, refund({ by: 3 })))).toMatchObject([{ type: 'PayoutInvoiceRefused', data: { reason } }])
})
