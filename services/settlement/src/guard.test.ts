import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlement } from './settlement.ts'
import {
  attestation,
  E,
  evidence,
  fact,
  guard,
  isNoted,
  noted,
  OUTPOINT,
  proof,
  seller,
  settleAsked,
  stranger,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
  toSettling,
} from './samples.contract.ts'

const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
const hidden = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, isPrivate: true } })

const tried = (height: number, reached: boolean) => fact('BuyerReachTried', { height, reached, reason: 'x' })
const unreached = [rails, tried(E + 5, false)]

type Word = 'settle' | 'wait' | 'wrong' | 'spent' | 'unconfirmed' | 'unproven' | 'unnamed' | 'unknown'
type History = readonly SettlementFact[]
/** What the guard says of a held payment, in one word. */
const say = (
  height: number,
  seen: EvidenceData | null,
  history: History,
  outpoint: string | null = OUTPOINT,
  nodeReady = true,
): Word => {
  const { decision } = given(settlement, ...history).when(guard(height, seen, outpoint, nodeReady))
  if ('refused' in decision) throw new Error('the guard is never refused')
  // What is kept beside the word is told in peer-proof.test.ts.
  const [first, ...more] = decision.facts.filter(({ type }) => type !== 'PeerProven')
  for (const { type } of more) expect(type).toBe('LossAsked')
  if (!first) return 'wait'
  if (first.type === 'SettleRequested') return 'settle'
  if (first.type !== 'CancelRequested') throw new Error(`unexpected ${first.type}`)
  expect(first.data.reason).toBe('last-height')
  return first.data.verdict ?? 'unknown'
}

const spend = { txid: 'ee'.repeat(32), height: 902 }
const unproven: Partial<EvidenceData> = { graph: null }
const signed: Partial<EvidenceData> = { graph: null, attestation, attestationSigner: seller }
const probed: Partial<EvidenceData> = { graph: null, probe: 'reached' }

/** Evidence, what it gives between blocks once the order wishes to settle, and what from the last height on. */
const classes: readonly (readonly [name: string, seen: EvidenceData | null, between: Word, last: Word, noted?: History])[] = [
  ['announced, three confirmations', evidence(), 'settle', 'settle'],
  ['announced, one confirmation', evidence({ tipHeight: 901 }), 'wait', 'settle'],
  ['probed', evidence(probed), 'settle', 'settle'],
  ['probed, one confirmation', evidence({ ...probed, tipHeight: 901 }), 'wait', 'settle'],
  ['probed beside another channel of the two', evidence({ ...probed, otherChannelsBetween: true }), 'wait', 'unproven'],
  ['probed, private, outside the rails', evidence(probed), 'wait', 'unproven', [hidden]],
  ['chain alone', evidence(unproven), 'wait', 'unproven'],
  ['chain alone, rails, nothing signed', evidence(unproven), 'wait', 'unproven', [rails]],
  [
    'chain alone, rails, signed by somebody else',
    evidence({ ...unproven, attestation, attestationSigner: stranger }),
    'wait',
    'unproven',
    [rails],
  ],
  ['chain alone, rails, signed', evidence(signed), 'wait', 'settle', unreached],
  ['chain alone, rails, signed, and the buyer reached', evidence(signed), 'wait', 'unproven', [rails, tried(E - 27, true)]],
  [
    'chain alone, rails, signed, and the buyer reached once',
    evidence(signed),
    'wait',
    'unproven',
    [rails, tried(E - 27, true), tried(E - 12, false)],
  ],
  [
    'proven otherwise, rails, and the buyer reached',
    evidence({ ...signed, ...probed }),
    'settle',
    'settle',
    [rails, tried(E - 27, true)],
  ],
  ['chain alone, signed, outside the rails', evidence(signed), 'wait', 'unproven'],
  ['chain alone, rails, signed, one confirmation', evidence({ ...signed, tipHeight: 901 }), 'wait', 'settle', unreached],
  ['in the mempool', evidence({}, { height: null, txIndex: null }), 'wait', 'unconfirmed'],
  ['in the mempool, rails', evidence(unproven, { height: null, txIndex: null }), 'wait', 'unconfirmed', [rails]],
  ['never seen', evidence({ output: null }), 'wait', 'unconfirmed'],
  ['too small', evidence({}, { valueSat: '999999' }), 'wait', 'wrong'],
  ['no funding output', evidence({}, { script: `0014${'00'.repeat(20)}` }), 'wait', 'wrong'],
  ['in a block below the hold, by a re-organisation', evidence({}, { height: 845 }), 'settle', 'settle'],
  ['older than the hold', evidence({}, { height: 844 }), 'wait', 'wrong'],
  [
    'announced between others',
    evidence({ graph: { capacitySat: '1000000', nodes: [seller, stranger], shortChannelId: '1x1x1' } }),
    'wait',
    'wrong',
  ],
  ['spent', evidence({}, { spentBy: spend }), 'wait', 'spent'],
  ['a spend in the mempool', evidence({}, { spentBy: { ...spend, height: null } }), 'wait', 'settle'],
  ['nothing to learn', null, 'wait', 'unknown'],
]

for (const [name, seen, between, last, note = [isNoted]] of classes)
  describe(`${name}`, () => {
    const asked = [...toHeld, ...note, settleAsked]
    const unasked = [...toHeld, ...note]
    test('one block before the last height', () => {
      expect(say(E - 25, seen, asked)).toBe(between)
      expect(say(E - 25, seen, unasked)).toBe('wait')
    })
    test.each([E - 24, E - 23, E - 18, E - 13])('at height %i, asked or not', (height) => {
      // A chain that is silent is waited for, as a node that is not ready is.
      const word = seen === null && height < E - 18 ? 'wait' : last
      expect(say(height, seen, asked)).toBe(word)
      expect(say(height, seen, unasked)).toBe(word)
    })
    test.each([E - 12, E - 1, E, E + 5])('at height %i, when nothing can be claimed any more', (height) => {
      expect(say(height, seen, asked)).toBe(last === 'settle' ? 'unknown' : last)
      expect(say(height, seen, unasked)).toBe(last === 'settle' ? 'unknown' : last)
    })
    test('while a node that is back has not heard of all: only what is sure, up to a height before its own last line', () => {
      // Such a node may know too few channels of the two for a probe, and it reached nobody: only an announcement is sure.
      const isUnsure = last === 'settle' && (seen?.graph ?? null) === null
      const sure = (last === 'settle' && !isUnsure) || last === 'wrong' || last === 'spent'
      for (const height of [E - 24, E - 19]) expect(say(height, seen, unasked, OUTPOINT, false)).toBe(sure ? last : 'wait')
      expect(say(E - 18, seen, unasked, OUTPOINT, false)).toBe(isUnsure ? 'unproven' : last)
      expect(say(E - 25, seen, asked, OUTPOINT, false)).toBe(isUnsure ? 'wait' : between)
    })
  })

test('without a try at its own height to reach the buyer a channel that only the chain proves stays undecided', () => {
  expect(say(E - 24, evidence(signed), [...toHeld, rails])).toBe('wait')
  expect(say(E - 24, evidence(signed), [...toHeld, rails, tried(E - 25, false)])).toBe('wait')
  expect(say(E - 24, evidence(signed), [...toHeld, rails, tried(E - 24, false)])).toBe('settle')
})

test('a try to reach the buyer of a rails seller is kept from three blocks before the last height on, once a height', () => {
  const at = (height: number, reached = false) => ({ type: 'RecordReachTry', data: { height, reached, reason: 'x' } }) as const
  given(settlement, ...toHeld, rails)
    .when(at(E - 28))
    .then()
  given(settlement, ...toHeld, rails)
    .when(at(E - 27))
    .then(tried(E - 27, false))
  given(settlement, ...toHeld, rails, tried(E - 26, false))
    .when(at(E - 26))
    .then()
  given(settlement, ...toHeld, rails, tried(E - 26, false))
    .when(at(E - 25, true))
    .then(tried(E - 25, true))
  // Another replica tried at the same block and did not reach it.
  given(settlement, ...toHeld, rails, tried(E - 24, false))
    .when(at(E - 24, true))
    .then(tried(E - 24, true))
  given(settlement, ...toHeld, rails, tried(E - 27, false))
    .when(at(E - 28, true))
    .then()
  // Reached once, the buyer counts as reached.
  given(settlement, ...toHeld, rails, tried(E - 25, true))
    .when(at(E - 24))
    .then()
  given(settlement, ...toNoted)
    .when(at(E - 24))
    .then()
  given(settlement, ...toSettled)
    .when(at(E - 24))
    .then()
})

test('where nothing was named: released at the last height, not before', () => {
  expect(say(E - 25, null, toHeld, null)).toBe('wait')
  expect(say(E - 24, null, toHeld, null)).toBe('unnamed')
  expect(say(E - 23, null, toHeld, null)).toBe('unnamed')
  expect(say(E - 24, null, toHeld, null, false)).toBe('unnamed')
})

test('the block of the evidence counts too: by it the payment may be past taking', () => {
  expect(say(E - 24, evidence({ tipHeight: E - 13 }), toNoted)).toBe('settle')
  expect(say(E - 24, evidence({ tipHeight: E - 12 }), toNoted)).toBe('unknown')
  expect(say(903, evidence({ tipHeight: E }), [...toNoted, settleAsked])).toBe('unknown')
})

test('evidence about another outpoint than the noted one says nothing', () => {
  const other = `${'00'.repeat(32)}:0`
  expect(say(E - 24, evidence(), toNoted, other)).toBe('wait')
  expect(say(E - 24, null, toNoted, null)).toBe('wait')
  expect(say(E - 24, null, toHeld, OUTPOINT)).toBe('wait')
})

test('a wish for another outpoint is no wish', () => {
  expect(say(E - 25, evidence(), [...toNoted, fact('SettleAsked', { outpoint: `${'00'.repeat(32)}:0` })])).toBe('wait')
})

test('a spend that only waits at the last height withholds the payout', () => {
  for (const [spentBy, withheld] of [
    [{ ...spend, height: null }, true],
    [null, false],
  ] as const) {
    const { decision } = given(settlement, ...toNoted).when(guard(E - 24, evidence({}, { spentBy })))
    expect(decision).toMatchObject({ facts: [{ type: 'SettleRequested', data: { proof: { peer: 'graph', withheld } } }] })
  }
})

test('the proof is kept with the decision', () => {
  given(settlement, ...toNoted, settleAsked)
    .when(guard(903, evidence()))
    .then(fact('SettleRequested', { proof, lastHeight: false }))
  given(settlement, ...toNoted)
    .when(guard(E - 24, evidence({ ...probed, tipHeight: 901 })))
    .then(
      fact('SettleRequested', {
        proof: { outpoint: OUTPOINT, tipHeight: 901, confirmations: 1, peer: 'probe', withheld: true },
        lastHeight: true,
      }),
    )
})

test('where nothing is held, or all is decided, the guard has nothing to say', () => {
  expect(say(E, null, [], null)).toBe('wait')
  expect(say(E, null, toOpen, null)).toBe('wait')
  expect(say(E, evidence(), toSettling)).toBe('wait')
  expect(say(E, null, toSettled)).toBe('wait')
})
