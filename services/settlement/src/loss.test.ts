import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelRequested,
  E,
  evidence,
  fact,
  guard,
  isNoted,
  NOW,
  posted,
  SELLER_MSAT,
  settleMissed,
  toHeld,
  toNoted,
  toSettled,
  toSettling,
} from './samples.contract.ts'
import type { SettlementCommand } from './state.ts'
import { settlement } from './settlement.ts'
import { settlementProcess } from './settlement.process.ts'

const asked = (cause: 'node-gave-back' | 'not-ready' | 'operator-closed' = 'node-gave-back') =>
  fact('LossAsked', { cause, untilHeight: E + 1008 })
const why = { reason: 'node', verdict: null, sentence: 'gone' } as const
const requested = fact('CancelRequested', why)
const gaveBack = fact('HoldCancelled', { ...why, at: NOW })
const lost: readonly SettlementFact[] = [...toNoted, requested, asked(), gaveBack]
const borne = (cause: 'node-gave-back' = 'node-gave-back', peer: 'graph' | 'probe' | null = 'graph', height = E) => [
  fact('LossBorne', { cause, height, peer, amountMsat: `${SELLER_MSAT}` }),
  fact('IncidentNoted', { what: 'operator-loss', height }),
  fact('LedgerPosted', {
    posting: 'operator-loss',
    entries: [
      { account: 'operator-loss', amountMsat: `${SELLER_MSAT}` },
      { account: 'payable', amountMsat: `-${SELLER_MSAT}` },
    ],
  }),
  fact('PayoutWithheld', {
    cause: 'operator-loss',
    reason: 'The market let the payment go, and the channel stands; an operator confirms the loss before it is paid.',
    untilHeight: height,
  }),
]
const sees = (height: number, seen: EvidenceData | null = evidence({ tipHeight: height })) => guard(height, seen)
const types = (history: readonly SettlementFact[], command: Wanted<SettlementCommand>): string | readonly string[] => {
  const { decision } = given(settlement, ...history).when(command)
  return 'refused' in decision ? decision.refused.code : decision.facts.map(({ type }) => type)
}

describe('the market lets a payment go, and asks whether it bears the loss', () => {
  const byNode = { type: 'RecordNodeCancelled', data: { at: NOW, height: 985 } } as const
  const closed = { type: 'CancelHold', data: { sentence: 'x', byOperator: true } } as const

  test('the node gave it back, and a channel was named', () => {
    expect(types(toNoted, byNode)).toEqual(['CancelRequested', 'LossAsked', 'HoldCancelled'])
    expect(types(toHeld, byNode)).toEqual(['CancelRequested', 'HoldCancelled'])
  })
  test('an operator closed the order, and nobody else', () => {
    expect(types(toNoted, closed)).toEqual(['CancelRequested', 'LossAsked'])
    expect(types(toHeld, closed)).toEqual(['CancelRequested'])
    expect(types(toNoted, { type: 'CancelHold', data: { sentence: 'x' } })).toEqual(['CancelRequested'])
  })
  test('the guard had to speak while the node was not ready', () => {
    const unproven = evidence({ graph: null })
    expect(types(toNoted, guard(E - 18, unproven, isNoted.data.outpoint, false))).toEqual(['CancelRequested', 'LossAsked'])
    expect(types(toNoted, guard(E - 19, unproven, isNoted.data.outpoint, false))).toEqual([])
    expect(types(toNoted, guard(E - 18, unproven))).toEqual(['CancelRequested'])
    expect(types(toNoted, guard(E - 19, null))).toEqual([])
    expect(types(toNoted, guard(E - 18, null))).toEqual(['CancelRequested', 'LossAsked'])
    const wrong = evidence({}, { valueSat: '1' })
    expect(types(toNoted, guard(E - 18, wrong, isNoted.data.outpoint, false))).toEqual(['CancelRequested'])
  })
  test('what was to be settled and went back is proven', () => {
    const all = ['LossBorne', 'IncidentNoted', 'LedgerPosted', 'PayoutWithheld']
    expect(types(toSettling, byNode)).toEqual(['IncidentNoted', 'HoldCancelled', ...all])
    const missed = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const
    expect(types([...toSettling, settleMissed], missed)).toEqual(['HoldCancelled', ...all])
  })
})

describe('a loss is borne by what the chain and our node show', () => {
  test('once the payment is back: a confirmation by the last height, and the peer proof', () => {
    given(settlement, ...lost)
      .when(sees(E))
      .then(...borne())
    given(settlement, ...lost)
      .when(sees(E, evidence({ tipHeight: E, graph: null, probe: 'reached' })))
      .then(...borne('node-gave-back', 'probe'))
    given(settlement, ...lost)
      .when(sees(E, evidence({ tipHeight: E }, { height: E - 24 })))
      .then(...borne())
    given(settlement, ...toNoted, cancelRequested, asked())
      .when(sees(E))
      .then()
  })
  test.each([
    ['chain alone', evidence({ tipHeight: E, graph: null })],
    ['a spend that waits', evidence({ tipHeight: E }, { spentBy: { txid: 'ee'.repeat(32), height: null } })],
    ['no transaction', { ...evidence({ tipHeight: E }), output: null }],
    ['in the mempool', evidence({ tipHeight: E, graph: null }, { height: null })],
    ['confirmed too late, and not deep', evidence({ tipHeight: E - 18 }, { height: E - 23 })],
  ])('undecided: %s', (_, seen) => {
    given(settlement, ...lost)
      .when(sees(seen.tipHeight, seen))
      .then()
  })
  test.each([
    ['another value', evidence({ tipHeight: E }, { valueSat: '1' })],
    ['spent in a block', evidence({ tipHeight: E }, { spentBy: { txid: 'ee'.repeat(32), height: E - 1 } })],
    ['confirmed too late', evidence({ tipHeight: E }, { height: E - 23 })],
  ])('refuted: %s', (_, seen) => {
    expect(types(lost, sees(E, seen))).toEqual(['LossRefuted'])
  })
  test('what nothing has proven by the end of the wait is refuted', () => {
    const chainOnly = evidence({ tipHeight: E + 1008, graph: null })
    expect(types(lost, sees(E + 1007, chainOnly))).toEqual([])
    expect(types(lost, sees(E + 1008, chainOnly))).toEqual(['LossRefuted'])
    const end = { type: 'EndLoss', data: { height: E + 1008 } } as const
    expect(types(lost, end)).toEqual(['LossRefuted'])
    expect(types(lost, { type: 'EndLoss', data: { height: E } })).toEqual([])
    for (const over of [toSettled, [...lost, ...borne()]]) expect(types(over, end)).toEqual([])
    expect(settlementProcess(given(settlement, ...lost).state, 'order')).toMatchObject([{ due: { height: E + 1008 } }])
  })
})

describe('an operator confirms a loss', () => {
  const history = [...lost, ...borne()]
  const decide = (to: 'seller' | 'buyer' | 'nobody') =>
    ({ type: 'DecidePayout', data: { to, by: 'ops', reason: 'our node was away', height: E } }) as const
  const confirmed = [
    ...history,
    fact('PayoutDecided', { to: 'seller', by: 'ops', reason: 'our node was away' }),
    fact('WithholdingLifted', { cause: 'operator-loss', height: E, how: 'operator' }),
  ]
  test('nothing is paid before, whatever the chain shows', () => {
    expect(types(history, sees(E + 100))).toEqual([])
  })
  test('then the seller is paid as for any sale', () => {
    given(settlement, ...history)
      .when(decide('seller'))
      .then(...confirmed.slice(-2))
    expect(types(confirmed, sees(E + 1))).toEqual(['PayoutReleased'])
  })
  test('whatever stands of the channel, whose buyer has its money back and may close it before', () => {
    const spent = fact('PayoutWithheld', { cause: 'spend-confirmed', reason: 'x', untilHeight: E + 1008 })
    const reorged = fact('PayoutWithheld', { cause: 'reorg', reason: 'x', untilHeight: E + 1008 })
    const { decision } = given(settlement, ...history, spent, reorged).when(decide('seller'))
    const lifted = 'facts' in decision ? decision.facts.flatMap((one) => ('cause' in one.data ? [one.data.cause] : [])) : []
    expect(lifted.toSorted()).toEqual(['operator-loss', 'spend-confirmed'])
  })
  test('or nobody is, and the books are even again', () => {
    const { decision } = given(settlement, ...history).when(decide('nobody'))
    if ('refused' in decision) throw new Error(decision.refused.code)
    const { balances } = decision.facts.reduce(settlement.evolve, given(settlement, ...history).state)
    expect(Object.values(balances).every((sum) => sum === 0n)).toBe(true)
    expect(types([...history, ...decision.facts], decide('seller'))).toBe('NOTHING_OWED')
  })
  test('the buyer has its payment back, and is owed nothing; where it has paid, nobody keeps its money', () => {
    expect(types(history, decide('buyer'))).toBe('NOT_THEIRS')
    const withheld = fact('PayoutWithheld', { cause: 'peer-proof', reason: 'x', untilHeight: E })
    expect(
      types(
        [...toSettling, fact('HoldSettled', { settledAt: NOW, receivedMsat: '5000000', confirmations: 3 }), posted, withheld],
        decide('nobody'),
      ),
    ).toBe('NOT_THEIRS')
  })
  test('a funding that a re-organisation takes away for good ends it', () => {
    const gone = { ...evidence({ tipHeight: E + 1008, graph: null }), output: null }
    const reorged = fact('PayoutWithheld', { cause: 'reorg', reason: 'x', untilHeight: E + 1008 })
    expect(types([...history, reorged], sees(E + 1008, gone))).toEqual(['LossRefuted', 'LedgerPosted'])
  })
})
