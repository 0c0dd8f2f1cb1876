import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { mayProofAppear } from '../effects/prove-channel.ts'
import type { SettlementPorts } from '../effects/ports.ts'
import {
  E,
  holdCancelledFact,
  sampleEvidence,
  settlementFact,
  guardCommand,
  outpointRegisteredFact,
  registeredOutpoint,
  OUTPOINT,
  settlementWantedFact,
  holdSettledFact,
  stateAfter,
  heldHistory,
  registeredHistory,
} from '../samples.fixture.ts'
import { settlementService } from '../service.ts'
import { settlementDecider } from '../settlement.decide.ts'

const [LAST, SPEND] = [E - 24, { txid: 'ee'.repeat(32), height: null }]
const wantedHistory = [...registeredHistory, settlementWantedFact]
/** Evidence at this tip height of a channel whose buyer does not answer. */
const hiding = (tipHeight = 903, change: Partial<EvidenceData> = {}) => sampleEvidence({ tipHeight, graph: null, ...change })
const answering = (tipHeight = 903, change: Partial<EvidenceData> = {}) => hiding(tipHeight, { probe: 'reached', ...change })
const spending = (seen: EvidenceData): EvidenceData => ({ ...seen, output: seen.output && { ...seen.output, spentBy: SPEND } })
const proven = (peer: 'graph' | 'probe', height = 901, outpoint = OUTPOINT) =>
  settlementFact('PeerProven', { outpoint, peer, height })

const settles = (peer: 'graph' | 'probe', tipHeight: number, lastHeight: boolean): SettlementFact => {
  const proof = { outpoint: OUTPOINT, tipHeight, confirmations: tipHeight - 900, peer, withheld: peer === 'probe' }
  return settlementFact('SettlementStarted', { proof, lastHeight })
}
const unproven = settlementFact('CancelRequested', {
  reason: 'last-height',
  verdict: 'unproven',
  sentence: 'Only the chain had proven the channel at the last height.',
})

describe('a peer proof', () => {
  test('is recorded when a buyer answers a probe before the hold can be settled', () => {
    for (const history of [registeredHistory, wantedHistory])
      given(settlementDecider, ...history)
        .when(guardCommand(901, answering(901)))
        .then(proven('probe'))
  })
  test('is recorded once, and an announcement replaces a probe', () => {
    given(settlementDecider, ...wantedHistory, proven('probe'))
      .when(guardCommand(902, answering(902)))
      .then()
    given(settlementDecider, ...wantedHistory, proven('probe'))
      .when(guardCommand(902, sampleEvidence({ tipHeight: 902 })))
      .then(proven('graph', 902))
    given(settlementDecider, ...wantedHistory, proven('graph'))
      .when(guardCommand(902, answering(902)))
      .then()
  })
  test('is not recorded with SettlementStarted, which contains the proof', () => {
    given(settlementDecider, ...wantedHistory)
      .when(guardCommand(903, answering()))
      .then(settles('probe', 903, false))
  })
  test('is recorded with a cancellation when too few blocks are left to settle', () => {
    const { decision } = given(settlementDecider, ...wantedHistory).when(guardCommand(E - 12, answering(E - 12)))
    const types = 'facts' in decision && decision.facts.map(({ type }) => type)
    expect(types).toEqual(['PeerProven', 'CancelRequested', 'LossSearchStarted'])
  })
})

describe('no peer proof is recorded', () => {
  const cases: readonly (readonly [name: string, seen: EvidenceData, nodeReady: boolean])[] = [
    ['for a probe that could have used another channel', answering(901, { otherChannelsBetween: true }), true],
    ['for a probe beside a spend, because it must have used another channel', spending(answering(901)), true],
    ['without a confirmation', { ...answering(901), output: { ...sampleEvidence().output!, height: null } }, true],
    ['for a wrong channel', { ...answering(901), output: { ...sampleEvidence().output!, valueSat: '999999' } }, true],
    ['by a node that is not ready, because it may not know all channels', answering(901), false],
    ['for a buyer that does not answer', hiding(901, { probe: 'not-reached' }), true],
  ]
  test.each(cases)('%s', (_, seen, nodeReady) => {
    given(settlementDecider, ...wantedHistory)
      .when(guardCommand(901, seen, OUTPOINT, nodeReady))
      .then()
  })
  test('for a probe of a private channel outside the rails cluster', () => {
    const hidden = settlementFact('OutpointRegistered', {
      ...registeredOutpoint,
      terms: { ...registeredOutpoint.terms, isPrivate: true },
    })
    given(settlementDecider, ...heldHistory, hidden)
      .when(guardCommand(901, answering(901)))
      .then()
  })
})

describe('a buyer that goes offline after its proof', () => {
  const known = [...wantedHistory, proven('probe')]
  test('pays at the required confirmations', () => {
    given(settlementDecider, ...known)
      .when(guardCommand(903, hiding()))
      .then(settles('probe', 903, false))
    given(settlementDecider, ...wantedHistory, proven('graph'))
      .when(guardCommand(903, hiding()))
      .then(settles('graph', 903, false))
  })
  test('pays at the last height, also with a spend in a mempool', () => {
    given(settlementDecider, ...registeredHistory, proven('probe'))
      .when(guardCommand(LAST, hiding(LAST)))
      .then(settles('probe', LAST, true))
    given(settlementDecider, ...known)
      .when(guardCommand(LAST, spending(hiding(LAST))))
      .then(settles('probe', LAST, true))
  })
  test('pays a rails seller, even if our node reached the buyer later', () => {
    const rails = settlementFact('OutpointRegistered', {
      ...registeredOutpoint,
      terms: { ...registeredOutpoint.terms, rails: true },
    })
    const reached = settlementFact('BuyerReachTried', { height: LAST - 1, reached: true, reason: 'x' })
    given(settlementDecider, ...heldHistory, rails, proven('probe'), reached)
      .when(guardCommand(LAST, hiding(LAST)))
      .then(settles('probe', LAST, true))
  })
  test('causes an operator loss, because the recorded proof counts', () => {
    const asking = settlementFact('LossSearchStarted', { cause: 'operator-closed', untilHeight: E + 1008 })
    const { decision } = given(settlementDecider, ...known, unproven, asking, holdCancelledFact).when(
      guardCommand(950, hiding(950)),
    )
    expect('facts' in decision && decision.facts[0]).toMatchObject({ type: 'LossBorne', data: { peer: 'probe' } })
  })
  test('does not delay the decision, because no proof is missing', () => {
    expect(mayProofAppear(stateAfter(...wantedHistory).hold, hiding(LAST), LAST)).toBe(true)
    expect(mayProofAppear(stateAfter(...known).hold, hiding(LAST), LAST)).toBe(false)
    expect(mayProofAppear(stateAfter(...known).hold, hiding(LAST, { otherChannelsBetween: true }), LAST)).toBe(true)
  })
})

describe('a recorded proof does not settle', () => {
  const known = [...wantedHistory, proven('probe')]
  const spent = { ...spending(hiding(LAST)) }
  test('for another outpoint', () => {
    const outpoint = `${'dd'.repeat(32)}:0`
    const other = settlementFact('OutpointRegistered', { ...registeredOutpoint, outpoint, outpointNumber: 2 })
    const seen = { ...hiding(LAST), output: { ...sampleEvidence().output!, outpoint } }
    given(settlementDecider, ...known, other)
      .when(guardCommand(LAST, seen, outpoint))
      .then(unproven)
    // The same holds after the order returned to the first outpoint, because the change dropped the proof.
    given(settlementDecider, ...known, other, settlementFact('OutpointRegistered', { ...registeredOutpoint, outpointNumber: 3 }))
      .when(guardCommand(LAST, hiding(LAST)))
      .then(unproven)
  })
  test('while our graph contains another channel between the two nodes', () => {
    given(settlementDecider, ...known)
      .when(guardCommand(LAST, hiding(LAST, { otherChannelsBetween: true })))
      .then(unproven)
  })
  test('a channel that is closed, wrong, or in no block', () => {
    const closed = { ...spent, output: { ...sampleEvidence().output!, spentBy: { ...SPEND, height: 950 } } }
    const small = { ...hiding(LAST), output: { ...sampleEvidence().output!, valueSat: '999999' } }
    const back = { ...hiding(LAST), output: { ...sampleEvidence().output!, height: null } }
    for (const [seen, verdict] of [
      [closed, 'spent'],
      [small, 'wrong'],
      [back, 'unconfirmed'],
    ] as const) {
      const { decision } = given(settlementDecider, ...known).when(guardCommand(LAST, seen))
      expect('facts' in decision && decision.facts).toMatchObject([{ type: 'CancelRequested', data: { verdict } }])
    }
  })
  test('before the required confirmations', () => {
    given(settlementDecider, ...known)
      .when(guardCommand(902, hiding(902)))
      .then()
  })
})

test('a later attestation of the same outpoint preserves its peer proof', () => {
  const attested = settlementFact('OutpointRegistered', { ...registeredOutpoint, outpointNumber: 2 })
  expect(stateAfter(...heldHistory, outpointRegisteredFact, proven('probe'), attested).hold.peerProof?.peer).toBe('probe')
})

test('the payout after a settlement by a recorded probe waits for the announcement', () => {
  const taken = [...wantedHistory, proven('probe'), settles('probe', 903, false)]
  const record = { type: 'RecordSettled', data: { settledAt: holdSettledFact.data.settledAt, receivedMsat: '5000000' } } as const
  const { decision } = given(settlementDecider, ...taken).when(record)
  const causes = 'facts' in decision ? decision.facts.flatMap(({ data }) => ('cause' in data ? [data.cause] : [])) : []
  expect(causes).toEqual(['peer-proof'])
})

test('the state hash of a version without peer proofs stays the same', () => {
  const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
  const state = fold(settlementDecider, registeredHistory)
  const before = JSON.parse(
    toCanonicalJson(state).replace('"peerProof":null,', '').replace('"isDecidedForSeller":false,', ''),
  ) as unknown
  expect(toCanonicalJson(hashed.projections[3]?.(state))).toBe(toCanonicalJson(before))
})
