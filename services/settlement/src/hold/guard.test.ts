import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlementDecider } from '../settlement.decide.ts'
import {
  sampleAttestation,
  E,
  sampleEvidence,
  settlementFact,
  guardCommand,
  outpointRegisteredFact,
  registeredOutpoint,
  OUTPOINT,
  proof,
  seller,
  settlementWantedFact,
  stranger,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
  settlingHistory,
} from '../samples.fixture.ts'

const rails = settlementFact('OutpointRegistered', { ...registeredOutpoint, terms: { ...registeredOutpoint.terms, rails: true } })
const hidden = settlementFact('OutpointRegistered', {
  ...registeredOutpoint,
  terms: { ...registeredOutpoint.terms, isPrivate: true },
})

const tried = (height: number, reached: boolean) => settlementFact('BuyerReachTried', { height, reached, reason: 'x' })
const unreached = [rails, tried(E + 5, false)]

type GuardDecision = 'settle' | 'wait' | 'wrong' | 'spent' | 'unconfirmed' | 'unproven' | 'unnamed' | 'unknown'
type History = readonly SettlementFact[]
/** The decision of the guard on a held payment: 'wait', 'settle', or the verdict of a cancellation. */
const decideAt = (
  height: number,
  seen: EvidenceData | null,
  history: History,
  outpoint: string | null = OUTPOINT,
  nodeReady = true,
): GuardDecision => {
  const { decision } = given(settlementDecider, ...history).when(guardCommand(height, seen, outpoint, nodeReady))
  if ('refused' in decision) throw new Error('the guard is never refused')
  // A recorded peer proof is tested in peer-proof.test.ts.
  const [first, ...more] = decision.facts.filter(({ type }) => type !== 'PeerProven')
  for (const { type } of more) expect(type).toBe('LossSearchStarted')
  if (!first) return 'wait'
  if (first.type === 'SettlementStarted') return 'settle'
  if (first.type !== 'CancelRequested') throw new Error(`unexpected ${first.type}`)
  expect(first.data.reason).toBe('last-height')
  return first.data.verdict ?? 'unknown'
}

const spend = { txid: 'ee'.repeat(32), height: 902 }
const unproven: Partial<EvidenceData> = { graph: null }
const signed: Partial<EvidenceData> = { graph: null, attestation: sampleAttestation, attestationSigner: seller }
const probed: Partial<EvidenceData> = { graph: null, probe: 'reached' }

/**
 * Classes of evidence. `requested`: the decision before the last height, if the order has requested the settlement. `last`: the
 * decision from the last height on. `registered`: the facts that register the outpoint, if they differ from the usual fact.
 */
const evidenceClasses: readonly (readonly [
  name: string,
  seen: EvidenceData | null,
  requested: GuardDecision,
  last: GuardDecision,
  registered?: History,
])[] = [
  ['announced, three confirmations', sampleEvidence(), 'settle', 'settle'],
  ['announced, one confirmation', sampleEvidence({ tipHeight: 901 }), 'wait', 'settle'],
  ['probed', sampleEvidence(probed), 'settle', 'settle'],
  ['probed, one confirmation', sampleEvidence({ ...probed, tipHeight: 901 }), 'wait', 'settle'],
  ['probed, and a second channel exists', sampleEvidence({ ...probed, otherChannelsBetween: true }), 'wait', 'unproven'],
  ['probed, private, outside the rails', sampleEvidence(probed), 'wait', 'unproven', [hidden]],
  ['chain alone', sampleEvidence(unproven), 'wait', 'unproven'],
  ['chain alone, rails, no attestation', sampleEvidence(unproven), 'wait', 'unproven', [rails]],
  [
    'chain alone, rails, attested by another node',
    sampleEvidence({ ...unproven, attestation: sampleAttestation, attestationSigner: stranger }),
    'wait',
    'unproven',
    [rails],
  ],
  ['chain alone, rails, attested', sampleEvidence(signed), 'wait', 'settle', unreached],
  ['chain alone, rails, attested, buyer reached', sampleEvidence(signed), 'wait', 'unproven', [rails, tried(E - 27, true)]],
  [
    'chain alone, rails, attested, buyer reached in an earlier attempt only',
    sampleEvidence(signed),
    'wait',
    'unproven',
    [rails, tried(E - 27, true), tried(E - 12, false)],
  ],
  [
    'probed and attested, rails, buyer reached',
    sampleEvidence({ ...signed, ...probed }),
    'settle',
    'settle',
    [rails, tried(E - 27, true)],
  ],
  ['chain alone, attested, outside the rails', sampleEvidence(signed), 'wait', 'unproven'],
  ['chain alone, rails, attested, one confirmation', sampleEvidence({ ...signed, tipHeight: 901 }), 'wait', 'settle', unreached],
  ['in the mempool', sampleEvidence({}, { height: null, txIndex: null }), 'wait', 'unconfirmed'],
  ['in the mempool, rails', sampleEvidence(unproven, { height: null, txIndex: null }), 'wait', 'unconfirmed', [rails]],
  ['never seen', sampleEvidence({ output: null }), 'wait', 'unconfirmed'],
  ['too small', sampleEvidence({}, { valueSat: '999999' }), 'wait', 'wrong'],
  ['no funding output', sampleEvidence({}, { script: `0014${'00'.repeat(20)}` }), 'wait', 'wrong'],
  ['moved by a re-organisation to a block before the hold', sampleEvidence({}, { height: 845 }), 'settle', 'settle'],
  ['in a block too long before the hold', sampleEvidence({}, { height: 844 }), 'wait', 'wrong'],
  [
    'announced between other nodes',
    sampleEvidence({ graph: { capacitySat: '1000000', nodes: [seller, stranger], shortChannelId: '1x1x1' } }),
    'wait',
    'wrong',
  ],
  ['spent', sampleEvidence({}, { spentBy: spend }), 'wait', 'spent'],
  ['a spend in the mempool', sampleEvidence({}, { spentBy: { ...spend, height: null } }), 'wait', 'settle'],
  ['no evidence', null, 'wait', 'unknown'],
]

for (const [name, seen, requested, last, registered = [outpointRegisteredFact]] of evidenceClasses)
  describe(`${name}`, () => {
    const wanted = [...heldHistory, ...registered, settlementWantedFact]
    const unwanted = [...heldHistory, ...registered]
    test('decides one block before the last height only after a settlement request', () => {
      expect(decideAt(E - 25, seen, wanted)).toBe(requested)
      expect(decideAt(E - 25, seen, unwanted)).toBe('wait')
    })
    test.each([E - 24, E - 23, E - 18, E - 13])('decides at height %i, with or without a settlement request', (height) => {
      // The guard waits for a silent chain source as for a node that is not ready.
      const expected = seen === null && height < E - 18 ? 'wait' : last
      expect(decideAt(height, seen, wanted)).toBe(expected)
      expect(decideAt(height, seen, unwanted)).toBe(expected)
    })
    test.each([E - 12, E - 1, E, E + 5])('cannot settle at height %i, because too few blocks are left for a claim', (height) => {
      expect(decideAt(height, seen, wanted)).toBe(last === 'settle' ? 'unknown' : last)
      expect(decideAt(height, seen, unwanted)).toBe(last === 'settle' ? 'unknown' : last)
    })
    test('decides before E − 18 only if the evidence is certain, when the node is not ready', () => {
      // A node that is not ready may not know every channel that a probe can use, and it reaches no buyer. So a probe and an
      // attestation are uncertain; an announcement is certain.
      const isUnsure = last === 'settle' && (seen?.graph ?? null) === null
      const sure = (last === 'settle' && !isUnsure) || last === 'wrong' || last === 'spent'
      for (const height of [E - 24, E - 19]) expect(decideAt(height, seen, unwanted, OUTPOINT, false)).toBe(sure ? last : 'wait')
      expect(decideAt(E - 18, seen, unwanted, OUTPOINT, false)).toBe(isUnsure ? 'unproven' : last)
      expect(decideAt(E - 25, seen, wanted, OUTPOINT, false)).toBe(isUnsure ? 'wait' : requested)
    })
  })

test('a channel that only the chain proves stays undecided until our node has tried to reach the buyer at this height', () => {
  expect(decideAt(E - 24, sampleEvidence(signed), [...heldHistory, rails])).toBe('wait')
  expect(decideAt(E - 24, sampleEvidence(signed), [...heldHistory, rails, tried(E - 25, false)])).toBe('wait')
  expect(decideAt(E - 24, sampleEvidence(signed), [...heldHistory, rails, tried(E - 24, false)])).toBe('settle')
})

test('an attempt to reach a rails seller’s buyer is recorded once per height from three blocks before the last height on', () => {
  const at = (height: number, reached = false) => ({ type: 'RecordReachTry', data: { height, reached, reason: 'x' } }) as const
  given(settlementDecider, ...heldHistory, rails)
    .when(at(E - 28))
    .then()
  given(settlementDecider, ...heldHistory, rails)
    .when(at(E - 27))
    .then(tried(E - 27, false))
  given(settlementDecider, ...heldHistory, rails, tried(E - 26, false))
    .when(at(E - 26))
    .then()
  given(settlementDecider, ...heldHistory, rails, tried(E - 26, false))
    .when(at(E - 25, true))
    .then(tried(E - 25, true))
  // Another replica failed to reach the buyer at the same block.
  given(settlementDecider, ...heldHistory, rails, tried(E - 24, false))
    .when(at(E - 24, true))
    .then(tried(E - 24, true))
  given(settlementDecider, ...heldHistory, rails, tried(E - 27, false))
    .when(at(E - 28, true))
    .then()
  // A buyer that was reached once counts as reached.
  given(settlementDecider, ...heldHistory, rails, tried(E - 25, true))
    .when(at(E - 24))
    .then()
  given(settlementDecider, ...registeredHistory)
    .when(at(E - 24))
    .then()
  given(settlementDecider, ...settledHistory)
    .when(at(E - 24))
    .then()
})

test('a hold without a submitted outpoint is cancelled at the last height, and not before', () => {
  expect(decideAt(E - 25, null, heldHistory, null)).toBe('wait')
  expect(decideAt(E - 24, null, heldHistory, null)).toBe('unnamed')
  expect(decideAt(E - 23, null, heldHistory, null)).toBe('unnamed')
  expect(decideAt(E - 24, null, heldHistory, null, false)).toBe('unnamed')
})

test('the height of the evidence counts too, because it may leave too few blocks to settle', () => {
  expect(decideAt(E - 24, sampleEvidence({ tipHeight: E - 13 }), registeredHistory)).toBe('settle')
  expect(decideAt(E - 24, sampleEvidence({ tipHeight: E - 12 }), registeredHistory)).toBe('unknown')
  expect(decideAt(903, sampleEvidence({ tipHeight: E }), [...registeredHistory, settlementWantedFact])).toBe('unknown')
})

test('evidence about another outpoint than the recorded outpoint is ignored', () => {
  const other = `${'00'.repeat(32)}:0`
  expect(decideAt(E - 24, sampleEvidence(), registeredHistory, other)).toBe('wait')
  expect(decideAt(E - 24, null, registeredHistory, null)).toBe('wait')
  expect(decideAt(E - 24, null, heldHistory, OUTPOINT)).toBe('wait')
})

test('a settlement request for another outpoint is ignored', () => {
  expect(
    decideAt(E - 25, sampleEvidence(), [
      ...registeredHistory,
      settlementFact('SettlementWanted', { outpoint: `${'00'.repeat(32)}:0` }),
    ]),
  ).toBe('wait')
})

test('a spend that is only in the mempool at the last height withholds the payout', () => {
  for (const [spentBy, withheld] of [
    [{ ...spend, height: null }, true],
    [null, false],
  ] as const) {
    const { decision } = given(settlementDecider, ...registeredHistory).when(
      guardCommand(E - 24, sampleEvidence({}, { spentBy })),
    )
    expect(decision).toMatchObject({ facts: [{ type: 'SettlementStarted', data: { proof: { peer: 'graph', withheld } } }] })
  }
})

test('the decision contains the proof', () => {
  given(settlementDecider, ...registeredHistory, settlementWantedFact)
    .when(guardCommand(903, sampleEvidence()))
    .then(settlementFact('SettlementStarted', { proof, lastHeight: false }))
  given(settlementDecider, ...registeredHistory)
    .when(guardCommand(E - 24, sampleEvidence({ ...probed, tipHeight: 901 })))
    .then(
      settlementFact('SettlementStarted', {
        proof: { outpoint: OUTPOINT, tipHeight: 901, confirmations: 1, peer: 'probe', withheld: true },
        lastHeight: true,
      }),
    )
})

test('the guard makes no decision if no payment is held, or if the hold is already decided', () => {
  expect(decideAt(E, null, [], null)).toBe('wait')
  expect(decideAt(E, null, openHistory, null)).toBe('wait')
  expect(decideAt(E, sampleEvidence(), settlingHistory)).toBe('wait')
  expect(decideAt(E, null, settledHistory)).toBe('wait')
})
