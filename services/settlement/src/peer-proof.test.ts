import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { mayProofCome } from './effects/prove.ts'
import type { SettlementPorts } from './effects/ports.ts'
import {
  E,
  cancelled,
  evidence,
  fact,
  guard,
  isNoted,
  noted,
  OUTPOINT,
  settleAsked,
  settled,
  stateAfter,
  toHeld,
  toNoted,
} from './samples.contract.ts'
import { settlementService } from './service.ts'
import { settlement } from './settlement.ts'

const [LAST, SPEND] = [E - 24, { txid: 'ee'.repeat(32), height: null }]
const asked = [...toNoted, settleAsked]
/** Chain and node as they show a channel whose buyer hides, in so many blocks. */
const hiding = (tipHeight = 903, change: Partial<EvidenceData> = {}) => evidence({ tipHeight, graph: null, ...change })
const answering = (tipHeight = 903, change: Partial<EvidenceData> = {}) => hiding(tipHeight, { probe: 'reached', ...change })
const spending = (seen: EvidenceData): EvidenceData => ({ ...seen, output: seen.output && { ...seen.output, spentBy: SPEND } })
const proven = (peer: 'graph' | 'probe', height = 901, outpoint = OUTPOINT) => fact('PeerProven', { outpoint, peer, height })

const settles = (peer: 'graph' | 'probe', tipHeight: number, lastHeight: boolean): SettlementFact => {
  const proof = { outpoint: OUTPOINT, tipHeight, confirmations: tipHeight - 900, peer, withheld: peer === 'probe' }
  return fact('SettleRequested', { proof, lastHeight })
}
const unproven = fact('CancelRequested', {
  reason: 'last-height',
  verdict: 'unproven',
  sentence: 'Nothing but the chain had proven the channel at the last height.',
})

describe('a peer proof is kept', () => {
  test('when a buyer answers a probe before the money can be taken', () => {
    for (const history of [toNoted, asked])
      given(settlement, ...history)
        .when(guard(901, answering(901)))
        .then(proven('probe'))
  })
  test('once, and an announcement in the place of a probe', () => {
    given(settlement, ...asked, proven('probe'))
      .when(guard(902, answering(902)))
      .then()
    given(settlement, ...asked, proven('probe'))
      .when(guard(902, evidence({ tipHeight: 902 })))
      .then(proven('graph', 902))
    given(settlement, ...asked, proven('graph'))
      .when(guard(902, answering(902)))
      .then()
  })
  test('not beside a settlement, which carries it', () => {
    given(settlement, ...asked)
      .when(guard(903, answering()))
      .then(settles('probe', 903, false))
  })
  test('beside a release that comes too late for the payment', () => {
    const { decision } = given(settlement, ...asked).when(guard(E - 12, answering(E - 12)))
    const types = 'facts' in decision && decision.facts.map(({ type }) => type)
    expect(types).toEqual(['PeerProven', 'CancelRequested', 'LossAsked'])
  })
})

describe('no proof is kept', () => {
  const cases: readonly (readonly [name: string, seen: EvidenceData, nodeReady: boolean])[] = [
    ['of a probe that could have gone through another channel', answering(901, { otherChannelsBetween: true }), true],
    ['of a probe beside a spend, which another channel must have carried', spending(answering(901)), true],
    ['without a confirmation', { ...answering(901), output: { ...evidence().output!, height: null } }, true],
    ['of a channel that is wrong', { ...answering(901), output: { ...evidence().output!, valueSat: '999999' } }, true],
    ['by a node that is not ready: it may know too few channels', answering(901), false],
    ['of a buyer that hides', hiding(901, { probe: 'not-reached' }), true],
  ]
  test.each(cases)('%s', (_, seen, nodeReady) => {
    given(settlement, ...asked)
      .when(guard(901, seen, OUTPOINT, nodeReady))
      .then()
  })
  test('of a private channel outside the rails, by a probe', () => {
    const hidden = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, isPrivate: true } })
    given(settlement, ...toHeld, hidden)
      .when(guard(901, answering(901)))
      .then()
  })
})

describe('a buyer that hides after its proof', () => {
  const known = [...asked, proven('probe')]
  test('pays at the required confirmations', () => {
    given(settlement, ...known)
      .when(guard(903, hiding()))
      .then(settles('probe', 903, false))
    given(settlement, ...asked, proven('graph'))
      .when(guard(903, hiding()))
      .then(settles('graph', 903, false))
  })
  test('pays at the last height, also with a spend in a mempool', () => {
    given(settlement, ...toNoted, proven('probe'))
      .when(guard(LAST, hiding(LAST)))
      .then(settles('probe', LAST, true))
    given(settlement, ...known)
      .when(guard(LAST, spending(hiding(LAST))))
      .then(settles('probe', LAST, true))
  })
  test('pays a rails seller, whether it was reached or not', () => {
    const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
    const reached = fact('BuyerReachTried', { height: LAST - 1, reached: true, reason: 'x' })
    given(settlement, ...toHeld, rails, proven('probe'), reached)
      .when(guard(LAST, hiding(LAST)))
      .then(settles('probe', LAST, true))
  })
  test('has no channel for the operator to pay twice: a loss counts the proof', () => {
    const asking = fact('LossAsked', { cause: 'operator-closed', untilHeight: E + 1008 })
    const { decision } = given(settlement, ...known, unproven, asking, cancelled).when(guard(950, hiding(950)))
    expect('facts' in decision && decision.facts[0]).toMatchObject({ type: 'LossBorne', data: { peer: 'probe' } })
  })
  test('is waited for no longer, since no proof is missing', () => {
    expect(mayProofCome(stateAfter(...asked).hold, hiding(LAST), LAST)).toBe(true)
    expect(mayProofCome(stateAfter(...known).hold, hiding(LAST), LAST)).toBe(false)
    expect(mayProofCome(stateAfter(...known).hold, hiding(LAST, { otherChannelsBetween: true }), LAST)).toBe(true)
  })
})

describe('a proof that is kept takes no money', () => {
  const known = [...asked, proven('probe')]
  const spent = { ...spending(hiding(LAST)) }
  test('for another outpoint', () => {
    const outpoint = `${'dd'.repeat(32)}:0`
    const other = fact('OutpointNoted', { ...noted, outpoint, naming: 2 })
    const seen = { ...hiding(LAST), output: { ...evidence().output!, outpoint } }
    given(settlement, ...known, other)
      .when(guard(LAST, seen, outpoint))
      .then(unproven)
    // Nor once the order has come back to the first: it had not been seen then.
    given(settlement, ...known, other, fact('OutpointNoted', { ...noted, naming: 3 }))
      .when(guard(LAST, hiding(LAST)))
      .then(unproven)
  })
  test('where our graph knows another channel of the two by now', () => {
    given(settlement, ...known)
      .when(guard(LAST, hiding(LAST, { otherChannelsBetween: true })))
      .then(unproven)
  })
  test('of a channel that is closed, wrong, or in no block', () => {
    const closed = { ...spent, output: { ...evidence().output!, spentBy: { ...SPEND, height: 950 } } }
    const small = { ...hiding(LAST), output: { ...evidence().output!, valueSat: '999999' } }
    const back = { ...hiding(LAST), output: { ...evidence().output!, height: null } }
    for (const [seen, verdict] of [
      [closed, 'spent'],
      [small, 'wrong'],
      [back, 'unconfirmed'],
    ] as const) {
      const { decision } = given(settlement, ...known).when(guard(LAST, seen))
      expect('facts' in decision && decision.facts).toMatchObject([{ type: 'CancelRequested', data: { verdict } }])
    }
  })
  test('before the required confirmations', () => {
    given(settlement, ...known)
      .when(guard(902, hiding(902)))
      .then()
  })
})

test('a later attestation of the same outpoint keeps it', () => {
  const attested = fact('OutpointNoted', { ...noted, naming: 2 })
  expect(stateAfter(...toHeld, isNoted, proven('probe'), attested).hold.peerProof?.peer).toBe('probe')
})

test('a payment that was taken by it waits for the announcement', () => {
  const taken = [...asked, proven('probe'), settles('probe', 903, false)]
  const record = { type: 'RecordSettled', data: { settledAt: settled.data.settledAt, receivedMsat: '5000000' } } as const
  const { decision } = given(settlement, ...taken).when(record)
  const causes = 'facts' in decision ? decision.facts.flatMap(({ data }) => ('cause' in data ? [data.cause] : [])) : []
  expect(causes).toEqual(['peer-proof'])
})

test('a state from before they were kept has the hash that it had', () => {
  const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
  const state = fold(settlement, toNoted)
  const before = JSON.parse(
    canonical(state).replace('"peerProof":null,', '').replace('"isDecidedForSeller":false,', ''),
  ) as unknown
  expect(canonical(hashed.of[3]?.(state))).toBe(canonical(before))
})
