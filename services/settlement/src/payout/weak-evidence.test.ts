import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { invoiceAcceptedFact, invoiceSubmittedFact } from './payout-samples.fixture.ts'
import { E, guardCommand, NOW, registeredHistory, sampleEvidence, settledHistory, settlementFact } from '../samples.fixture.ts'
import { settlementDecider } from '../settlement.decide.ts'

/** End height of a cause that begins at height 904. */
const END = 1912
const withheld = (cause: 'reorg' | 'spend-confirmed' | 'spend-unconfirmed', untilHeight = END) =>
  settlementFact('PayoutWithheld', { cause, reason: 'x', untilHeight })
const invoiced = [...settledHistory, invoiceSubmittedFact, invoiceAcceptedFact]
const gone = (tipHeight: number) => sampleEvidence({ tipHeight, output: null, graph: null })
const factTypes = (history: readonly SettlementFact[], command: ReturnType<typeof guardCommand>): readonly string[] => {
  const { decision } = given(settlementDecider, ...history).when(command)
  return 'facts' in decision ? decision.facts.map(({ type }) => type) : [decision.refused.code]
}

test.each(['spend-unconfirmed', 'spend-confirmed'] as const)('evidence without a mempool does not lift %s', (cause) => {
  const history = [...invoiced, withheld(cause)]
  expect(factTypes(history, guardCommand(906, sampleEvidence({ tipHeight: 906 }, { isSpendUnknown: true })))).toEqual([])
  expect(factTypes(history, guardCommand(906, sampleEvidence({ tipHeight: 906 })))).toContain('WithholdingLifted')
})

test('evidence of an older block, or of the same one, does not lift a spend that newer evidence found', () => {
  const history = [...invoiced, withheld('spend-confirmed', 910 + 1008)]
  for (const height of [909, 910])
    expect(factTypes(history, guardCommand(height, sampleEvidence({ tipHeight: height })))).toEqual([])
  expect(factTypes(history, guardCommand(911, sampleEvidence({ tipHeight: 911 })))).toContain('PayoutReleased')
})

test('a node that is not ready, or a chain below the height of the payment, withholds nothing and closes no payable', () => {
  const reorged = [...settledHistory, withheld('reorg')]
  for (const command of [
    guardCommand(END, gone(END), undefined, false),
    guardCommand(700, gone(700)),
    guardCommand(END, gone(700)),
  ]) {
    expect(factTypes([...settledHistory], command)).toEqual([])
    expect(factTypes(reorged, command)).toEqual([])
  }
  expect(factTypes(reorged, guardCommand(END, gone(END)))).toContain('PayableClosed')
})

test('a node that is not ready refutes no operator loss', () => {
  const cause = { reason: 'node', verdict: null, sentence: 'gone' } as const
  const lost = [
    ...registeredHistory,
    settlementFact('CancelRequested', cause),
    settlementFact('LossSearchStarted', { cause: 'node-gave-back', untilHeight: E + 1008 }),
    settlementFact('HoldCancelled', { ...cause, at: NOW }),
  ]
  const end = E + 1008
  expect(factTypes(lost, guardCommand(end, gone(end), undefined, false))).toEqual([])
  expect(factTypes(lost, guardCommand(end, gone(end)))).toEqual(['LossRefuted'])
})
