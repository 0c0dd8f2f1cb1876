import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelRequestedFact,
  E,
  sampleEvidence,
  settlementFact,
  guardCommand,
  outpointRegisteredFact,
  NOW,
  ledgerPostedFact,
  SELLER_MSAT,
  settlementMissedFact,
  heldHistory,
  registeredHistory,
  settledHistory,
  settlingHistory,
} from '../samples.fixture.ts'
import type { EnrichedSettlementCommand } from '../state.ts'
import { settlementDecider } from '../settlement.decide.ts'
import { settlementProcess } from '../settlement.process.ts'

const lossSearchStarted = (cause: 'node-gave-back' | 'not-ready' | 'operator-closed' = 'node-gave-back') =>
  settlementFact('LossSearchStarted', { cause, untilHeight: E + 1008 })
const cancelCause = { reason: 'node', verdict: null, sentence: 'gone' } as const
const requested = settlementFact('CancelRequested', cancelCause)
const gaveBack = settlementFact('HoldCancelled', { ...cancelCause, at: NOW })
const lost: readonly SettlementFact[] = [...registeredHistory, requested, lossSearchStarted(), gaveBack]
const borne = (cause: 'node-gave-back' = 'node-gave-back', peer: 'graph' | 'probe' | null = 'graph', height = E) => [
  settlementFact('LossBorne', { cause, height, peer, amountMsat: `${SELLER_MSAT}` }),
  settlementFact('IncidentRecorded', { what: 'operator-loss', height }),
  settlementFact('LedgerPosted', {
    posting: 'operator-loss',
    entries: [
      { account: 'operator-loss', amountMsat: `${SELLER_MSAT}` },
      { account: 'payable', amountMsat: `-${SELLER_MSAT}` },
    ],
  }),
  settlementFact('PayoutWithheld', {
    cause: 'operator-loss',
    reason: 'The market cancelled the payment of a valid channel; an operator has to confirm the loss before it is paid.',
    untilHeight: height,
  }),
]
const sees = (height: number, seen: EvidenceData | null = sampleEvidence({ tipHeight: height })) => guardCommand(height, seen)
const types = (
  history: readonly SettlementFact[],
  command: CommandBody<EnrichedSettlementCommand>,
): string | readonly string[] => {
  const { decision } = given(settlementDecider, ...history).when(command)
  return 'refused' in decision ? decision.refused.code : decision.facts.map(({ type }) => type)
}

describe('an operator loss is examined', () => {
  const byNode = { type: 'RecordNodeCancelled', data: { at: NOW, height: 985 } } as const
  const closed = { type: 'CancelHold', data: { sentence: 'x', byOperator: true } } as const

  test('if the node cancelled a payment with a recorded outpoint', () => {
    expect(types(registeredHistory, byNode)).toEqual(['CancelRequested', 'LossSearchStarted', 'HoldCancelled'])
    expect(types(heldHistory, byNode)).toEqual(['CancelRequested', 'HoldCancelled'])
  })
  test('if an operator closed the order, but not if the order released the hold', () => {
    expect(types(registeredHistory, closed)).toEqual(['CancelRequested', 'LossSearchStarted'])
    expect(types(heldHistory, closed)).toEqual(['CancelRequested'])
    expect(types(registeredHistory, { type: 'CancelHold', data: { sentence: 'x' } })).toEqual(['CancelRequested'])
  })
  test('if the guard had to cancel while the node was not ready', () => {
    const unproven = sampleEvidence({ graph: null })
    expect(types(registeredHistory, guardCommand(E - 18, unproven, outpointRegisteredFact.data.outpoint, false))).toEqual([
      'CancelRequested',
      'LossSearchStarted',
    ])
    expect(types(registeredHistory, guardCommand(E - 19, unproven, outpointRegisteredFact.data.outpoint, false))).toEqual([])
    expect(types(registeredHistory, guardCommand(E - 18, unproven))).toEqual(['CancelRequested'])
    expect(types(registeredHistory, guardCommand(E - 19, null))).toEqual([])
    expect(types(registeredHistory, guardCommand(E - 18, null))).toEqual(['CancelRequested', 'LossSearchStarted'])
    const wrong = sampleEvidence({}, { valueSat: '1' })
    expect(types(registeredHistory, guardCommand(E - 18, wrong, outpointRegisteredFact.data.outpoint, false))).toEqual([
      'CancelRequested',
    ])
  })
  test('and borne at once if a started settlement was cancelled', () => {
    const all = ['LossBorne', 'IncidentRecorded', 'LedgerPosted', 'PayoutWithheld']
    expect(types(settlingHistory, byNode)).toEqual(['IncidentRecorded', 'HoldCancelled', ...all])
    const missed = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const
    expect(types([...settlingHistory, settlementMissedFact], missed)).toEqual(['HoldCancelled', ...all])
  })
})

describe('a loss', () => {
  test('is borne after the cancellation, by a confirmation up to the last height and a peer proof', () => {
    given(settlementDecider, ...lost)
      .when(sees(E))
      .then(...borne())
    given(settlementDecider, ...lost)
      .when(sees(E, sampleEvidence({ tipHeight: E, graph: null, probe: 'reached' })))
      .then(...borne('node-gave-back', 'probe'))
    given(settlementDecider, ...lost)
      .when(sees(E, sampleEvidence({ tipHeight: E }, { height: E - 24 })))
      .then(...borne())
    given(settlementDecider, ...registeredHistory, cancelRequestedFact, lossSearchStarted())
      .when(sees(E))
      .then()
  })
  test.each([
    ['chain alone', sampleEvidence({ tipHeight: E, graph: null })],
    ['a spend in the mempool', sampleEvidence({ tipHeight: E }, { spentBy: { txid: 'ee'.repeat(32), height: null } })],
    ['no transaction', { ...sampleEvidence({ tipHeight: E }), output: null }],
    ['in the mempool', sampleEvidence({ tipHeight: E, graph: null }, { height: null })],
    ['confirmed too late, and not buried', sampleEvidence({ tipHeight: E - 18 }, { height: E - 23 })],
  ])('stays undecided: %s', (_, seen) => {
    given(settlementDecider, ...lost)
      .when(sees(seen.tipHeight, seen))
      .then()
  })
  test.each([
    ['another value', sampleEvidence({ tipHeight: E }, { valueSat: '1' })],
    ['spent in a block', sampleEvidence({ tipHeight: E }, { spentBy: { txid: 'ee'.repeat(32), height: E - 1 } })],
    ['confirmed too late', sampleEvidence({ tipHeight: E }, { height: E - 23 })],
  ])('is refuted: %s', (_, seen) => {
    expect(types(lost, sees(E, seen))).toEqual(['LossRefuted'])
  })
  test('is refuted if the channel is not proven by the end height', () => {
    const chainOnly = sampleEvidence({ tipHeight: E + 1008, graph: null })
    expect(types(lost, sees(E + 1007, chainOnly))).toEqual([])
    expect(types(lost, sees(E + 1008, chainOnly))).toEqual(['LossRefuted'])
    const end = { type: 'EndLoss', data: { height: E + 1008 } } as const
    expect(types(lost, end)).toEqual(['LossRefuted'])
    expect(types(lost, { type: 'EndLoss', data: { height: E } })).toEqual([])
    for (const over of [settledHistory, [...lost, ...borne()]]) expect(types(over, end)).toEqual([])
    expect(settlementProcess(given(settlementDecider, ...lost).state, 'order')).toMatchObject([{ due: { height: E + 1008 } }])
  })
})

describe('an operator’s decision on a loss', () => {
  const history = [...lost, ...borne()]
  const decide = (to: 'seller' | 'buyer' | 'nobody') =>
    ({
      type: 'DecidePayout',
      data: { to, by: 'ops', reason: 'our node was away', proof: '', isProven: true, height: E },
    }) as const
  const confirmed = [
    ...history,
    settlementFact('PayoutDecided', { to: 'seller', by: 'ops', reason: 'our node was away' }),
    settlementFact('WithholdingLifted', { cause: 'operator-loss', height: E, how: 'operator' }),
  ]
  test('is necessary before the seller is paid, for any evidence of the chain', () => {
    expect(types(history, sees(E + 100))).toEqual([])
  })
  test('for the seller leads to a payout as for any sale', () => {
    given(settlementDecider, ...history)
      .when(decide('seller'))
      .then(...confirmed.slice(-2))
    expect(types(confirmed, sees(E + 1))).toEqual(['PayoutReleased'])
  })
  test('for the seller covers a spend too, because the buyer has its money back and may close the channel', () => {
    const spent = settlementFact('PayoutWithheld', { cause: 'spend-confirmed', reason: 'x', untilHeight: E + 1008 })
    const reorged = settlementFact('PayoutWithheld', { cause: 'reorg', reason: 'x', untilHeight: E + 1008 })
    const { decision } = given(settlementDecider, ...history, spent, reorged).when(decide('seller'))
    const lifted = 'facts' in decision ? decision.facts.flatMap((one) => ('cause' in one.data ? [one.data.cause] : [])) : []
    expect(lifted.toSorted()).toEqual(['operator-loss', 'spend-confirmed'])
  })
  test('for neither party sets all balances to zero', () => {
    const { decision } = given(settlementDecider, ...history).when(decide('nobody'))
    if ('refused' in decision) throw new Error(decision.refused.code)
    const { balances } = decision.facts.reduce(settlementDecider.evolve, given(settlementDecider, ...history).state)
    expect(Object.values(balances).every((sum) => sum === 0n)).toBe(true)
    expect(types([...history, ...decision.facts], decide('seller'))).toBe('NOTHING_OWED')
  })
  test('is refused for the buyer after a cancellation, and for neither party after a payment', () => {
    expect(types(history, decide('buyer'))).toBe('NOT_THEIRS')
    const withheld = settlementFact('PayoutWithheld', { cause: 'peer-proof', reason: 'x', untilHeight: E })
    expect(
      types(
        [
          ...settlingHistory,
          settlementFact('HoldSettled', { settledAt: NOW, receivedMsat: '5000000', confirmations: 3 }),
          ledgerPostedFact,
          withheld,
        ],
        decide('nobody'),
      ),
    ).toBe('NOT_THEIRS')
  })
  test('is unnecessary if a re-organisation permanently removes the funding', () => {
    const gone = { ...sampleEvidence({ tipHeight: E + 1008, graph: null }), output: null }
    const reorged = settlementFact('PayoutWithheld', { cause: 'reorg', reason: 'x', untilHeight: E + 1008 })
    expect(types([...history, reorged], sees(E + 1008, gone))).toEqual(['LossRefuted', 'LedgerPosted'])
  })
})
