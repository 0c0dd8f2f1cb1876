import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChannelAttestation, formatChannelAttestation, formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import {
  type SoldChannelTerms,
  type ChannelEvidence,
  type FundingOutput,
  judgeChannel,
  REORG_BLOCKS,
  type ChannelVerdict,
  type InvalidChannelReason,
} from './judge.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { fundingScript, taprootFundingScript } from '@penstock/bitcoin/script.ts'

const key = (byte: number): string => derivePubkey(new Uint8Array(32).fill(byte))
const [seller, buyer, stranger, fundingA, fundingB] = [key(1), key(2), key(3), key(4), key(5)]
const outpoint = `${'ab'.repeat(32)}:1`

const terms: SoldChannelTerms = {
  sellerPubkey: seller,
  buyerPubkey: buyer,
  capacitySat: 2_000_000n,
  isPrivate: false,
  rails: false,
  heldAtHeight: 100,
  requiredConfirmations: 3,
}
const output: FundingOutput = {
  outpoint,
  valueSat: 2_000_000n,
  script: fundingScript(fundingA, fundingB),
  height: 101,
  spentBy: null,
}
/** The attestation of an unmodified node, which does not know the funding keys. */
const keyless: ChannelAttestation = {
  outpoint,
  capacitySat: 2_000_000n,
  nodeKeys: [seller, buyer],
  channelType: 'anchors',
  pushSat: 0n,
  reserveSat: 20_000n,
  signature: 'sig',
}
const keylessEvidence = { attestation: keyless, attestationSigner: seller }
const attestation: ChannelAttestation = { ...keyless, fundingKeys: [fundingA, fundingB] }
const taproot: FundingOutput = { ...output, script: taprootFundingScript(fundingA, fundingB) }
const graph = { capacitySat: 2_000_000n, nodes: [buyer, seller] } as const
const evidence: ChannelEvidence = { tipHeight: 103, output, graph: null, otherChannelsBetween: false, probe: 'not-tried' }
const attested = (change: Partial<ChannelAttestation>): Partial<ChannelEvidence> => ({
  attestation: { ...attestation, ...change },
  attestationSigner: seller,
})

type Case = [
  string,
  { terms?: Partial<SoldChannelTerms>; evidence?: Partial<ChannelEvidence>; lastHeight?: boolean },
  Partial<ChannelVerdict>,
]
const run = ({ terms: t, evidence: e, lastHeight = false }: Case[1]): ChannelVerdict =>
  judgeChannel({ ...terms, ...t }, { ...evidence, ...e }, { lastHeight })
const rails = { rails: true }
const withheld = 'announcement-or-1008-blocks'

describe('judgeChannel returns valid', () => {
  const cases: Case[] = [
    ['a re-organised funding below the hold', { evidence: { graph, output: { ...output, height: 95 } } }, { peer: 'graph' }],
    ['an announced channel', { evidence: { graph } }, { peer: 'graph', confirmations: 3, payoutWithheldUntil: 'none' }],
    [
      'an announced channel beside other channels and a failed probe',
      { evidence: { graph, otherChannelsBetween: true, probe: 'not-reached' } },
      { peer: 'graph', payoutWithheldUntil: 'none' },
    ],
    [
      'a channel with more capacity than sold',
      { evidence: { output: { ...output, valueSat: 3_000_000n }, graph: { ...graph, capacitySat: 3_000_000n } } },
      { peer: 'graph' },
    ],
    ['a probe within rails', { terms: rails, evidence: { probe: 'reached' } }, { peer: 'probe', payoutWithheldUntil: withheld }],
    [
      'a probe outside rails, whose payout waits',
      { evidence: { probe: 'reached' } },
      { peer: 'probe', payoutWithheldUntil: withheld },
    ],
    [
      'a probe of a private rails channel',
      { terms: { ...rails, isPrivate: true }, evidence: { probe: 'reached' } },
      { peer: 'probe', payoutWithheldUntil: 'none' },
    ],
    ['a true attestation', { evidence: { graph, ...attested({}) } }, { peer: 'graph' }],
    [
      'node keys in upper case',
      {
        terms: { sellerPubkey: seller.toUpperCase() },
        evidence: { graph, ...attested({ nodeKeys: [seller, buyer.toUpperCase()] }) },
      },
      { peer: 'graph' },
    ],
    [
      'a taproot output of the attested keys',
      { terms: { ...rails, isPrivate: true }, evidence: { probe: 'reached', output: taproot, ...attested({}) } },
      { peer: 'probe', payoutWithheldUntil: 'none' },
    ],
    [
      'a taproot output of unknown keys with a peer proof',
      { terms: rails, evidence: { probe: 'reached', output: taproot, ...keylessEvidence } },
      { peer: 'probe' },
    ],
    [
      'one confirmation and a peer proof at the last height',
      { evidence: { tipHeight: 101, graph }, lastHeight: true },
      { peer: 'graph', confirmations: 1, payoutWithheldUntil: 'none' },
    ],
    [
      'an attestation within rails at the last height',
      { terms: rails, evidence: { tipHeight: 101, ...attested({}) }, lastHeight: true },
      { peer: null, confirmations: 1, payoutWithheldUntil: withheld },
    ],
    [
      'an attestation of a taproot output within rails at the last height',
      { terms: rails, evidence: { tipHeight: 101, output: taproot, ...attested({}) }, lastHeight: true },
      { peer: null, confirmations: 1, payoutWithheldUntil: withheld },
    ],
    [
      'an attestation and an inconclusive probe within rails at the last height',
      { terms: rails, evidence: { probe: 'reached', otherChannelsBetween: true, ...attested({}) }, lastHeight: true },
      { peer: null, payoutWithheldUntil: withheld },
    ],
    [
      'a probe outside rails at the last height',
      { evidence: { tipHeight: 101, probe: 'reached' }, lastHeight: true },
      { peer: 'probe', payoutWithheldUntil: withheld },
    ],
  ]
  test.each(cases)('for %s', (_, given, expected) =>
    expect(run(given)).toMatchObject({ verdict: 'valid', chain: true, ...expected }),
  )
})

describe('judgeChannel returns undecided', () => {
  const cases: Case[] = [
    ['an unseen transaction', { evidence: { output: null } }, { waitingFor: 'transaction' }],
    [
      'an unseen transaction at the last height',
      { terms: rails, evidence: { output: null }, lastHeight: true },
      { waitingFor: 'transaction' },
    ],
    ['a funding in the mempool', { evidence: { output: { ...output, height: null }, graph } }, { waitingFor: 'confirmations' }],
    [
      'a funding in the mempool at the last height',
      { terms: rails, evidence: { output: { ...output, height: null }, graph }, lastHeight: true },
      { waitingFor: 'confirmations' },
    ],
    ['too few confirmations', { evidence: { tipHeight: 102, graph } }, { waitingFor: 'confirmations' }],
    [
      'a funding in a block above the tip, after a re-organisation',
      { evidence: { tipHeight: 99, graph }, lastHeight: true },
      { waitingFor: 'confirmations' },
    ],
    [
      'an unconfirmed funding although no confirmation is required',
      { terms: { requiredConfirmations: 0 }, evidence: { output: { ...output, height: null }, graph } },
      { waitingFor: 'confirmations' },
    ],
    ['a channel without a peer proof', {}, { waitingFor: 'peer-proof' }],
    ['a failed probe', { terms: rails, evidence: { probe: 'not-reached' } }, { waitingFor: 'peer-proof' }],
    [
      'a probe beside another channel between the two nodes',
      { terms: rails, evidence: { probe: 'reached', otherChannelsBetween: true } },
      { waitingFor: 'peer-proof' },
    ],
    [
      'a probe of a private channel outside rails',
      { terms: { isPrivate: true }, evidence: { probe: 'reached' } },
      { waitingFor: 'peer-proof' },
    ],
    [
      'a probe of a private channel outside rails at the last height',
      { terms: { isPrivate: true }, evidence: { probe: 'reached' }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    ['attestation outside rails at the last height', { evidence: attested({}), lastHeight: true }, { waitingFor: 'peer-proof' }],
    ['no attestation at the last height', { terms: rails, lastHeight: true }, { waitingFor: 'peer-proof' }],
    [
      'an attestation by a stranger within rails at the last height',
      { terms: rails, evidence: { ...attested({}), attestationSigner: stranger }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    [
      'a spend in the mempool',
      { evidence: { graph, output: { ...output, spentBy: { txid: 'ee', height: null } } } },
      { waitingFor: 'spend' },
    ],
    [
      'a spend in the mempool of a channel without a peer proof, at the last height',
      { evidence: { output: { ...output, spentBy: { txid: 'ee', height: null } } }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    [
      'an attestation by a stranger, which blames no one',
      { evidence: { ...attested({ pushSat: 9n }), attestationSigner: stranger } },
      { waitingFor: 'peer-proof' },
    ],
  ]
  test.each(cases)('for %s', (_, given, expected) => expect(run(given)).toEqual({ verdict: 'undecided', ...expected }))
})

const wrongCases: readonly (readonly [InvalidChannelReason, string, Partial<ChannelEvidence>])[] = [
  ['value-too-small', 'one sat less', { output: { ...output, valueSat: 1_999_999n } }],
  ['value-too-small', 'a small output in the mempool', { output: { ...output, valueSat: 1n, height: null } }],
  ['not-a-funding-output', 'a wallet output', { output: { ...output, script: `0014${'ab'.repeat(20)}` } }],
  ['script-mismatch', 'other keys than attested', attested({ fundingKeys: [fundingA, stranger] })],
  [
    'script-mismatch',
    'taproot, no aggregate of the attested keys',
    { output: { ...output, script: `5120${'ab'.repeat(32)}` }, ...attested({}) },
  ],
  ['script-mismatch', 'taproot, other keys', { output: taproot, ...attested({ fundingKeys: [fundingA, stranger] }) }],
  ['script-mismatch', 'taproot, one key twice', { output: taproot, ...attested({ fundingKeys: [fundingA, fundingA] }) }],
  ['script-mismatch', 'taproot, bad key', { output: taproot, ...attested({ fundingKeys: [fundingA, `02${'ff'.repeat(32)}`] }) }],
  ['older-than-the-hold', 'beyond what a re-organisation may have moved', { output: { ...output, height: 94 } }],
  ['announced-nodes', 'to another node', { graph: { ...graph, nodes: [seller, stranger] } }],
  ['announced-capacity', 'less than sold', { graph: { ...graph, capacitySat: 1_000_000n } }],
  ['announced-capacity', 'not the value of the output', { graph: { ...graph, capacitySat: 2_500_000n } }],
  ['attested-outpoint', 'another outpoint', attested({ outpoint: `${'cd'.repeat(32)}:1` })],
  ['attested-nodes', 'other nodes', attested({ nodeKeys: [seller, stranger] })],
  ['attested-capacity', 'less than sold', attested({ capacitySat: 1_000_000n })],
  ['attested-capacity', 'not the value of the output', attested({ capacitySat: 2_500_000n })],
  ['attested-push', 'a sat pushed', attested({ pushSat: 1n })],
  ['attested-push', 'a sat pushed by an unseen funding', { output: null, ...attested({ pushSat: 1n }) }],
]

describe('judgeChannel returns wrong, at any height and with any other proof', () => {
  test.each(wrongCases)('for %s: %s', (reason, _, change) => {
    for (const lastHeight of [false, true])
      for (const known of [{}, { probe: 'reached' as const, graph: change.graph ?? graph }])
        expect(judgeChannel({ ...terms, rails: true }, { ...evidence, ...known, ...change }, { lastHeight })).toMatchObject({
          verdict: 'wrong',
          reason,
        })
  })
})

describe('a spend', () => {
  const spentBy = { txid: 'ee', height: 103 }
  const run = (change: Partial<ChannelEvidence>, lastHeight: boolean) =>
    judgeChannel({ ...terms, rails: true }, { ...evidence, graph, ...change }, { lastHeight })

  test('in a block gives the verdict spent at any height', () => {
    const sentence = 'Transaction ee in block 103 spends the output.'
    for (const lastHeight of [false, true])
      expect(run({ output: { ...output, spentBy } }, lastHeight)).toEqual({ verdict: 'spent', sentence })
  })

  test('does not excuse a false attestation', () => {
    const lie = { output: { ...output, spentBy }, ...attested({ pushSat: 1n }) }
    expect(run(lie, true)).toMatchObject({ verdict: 'wrong', reason: 'attested-push' })
  })

  test('in the mempool does not count against the proofs at the last height', () => {
    const inMempool = { output: { ...output, spentBy: { ...spentBy, height: null } } }
    expect(run(inMempool, true)).toMatchObject({ verdict: 'valid', peer: 'graph', hasUnconfirmedSpend: true })
    expect(run({}, true)).toMatchObject({ verdict: 'valid', hasUnconfirmedSpend: false })
  })
})

const anyEvidence = fc
  .record({
    tipHeight: fc.integer({ min: 90, max: 120 }),
    output: fc.option(
      fc.record({
        outpoint: fc.constant(outpoint),
        // Valid values are repeated, because hardly any evidence would be valid otherwise.
        valueSat: fc.constantFrom(2_000_000n, 2_000_000n, 2_000_000n, 1_000_000n, 3_000_000n),
        script: fc.constantFrom(output.script, output.script, output.script, taproot.script, '51'),
        height: fc.option(fc.integer({ min: 95, max: 120 })),
        spentBy: fc.option(fc.record({ txid: fc.constant('ee'), height: fc.option(fc.constant(110)) }), { freq: 5 }),
      }),
      { freq: 10 },
    ),
    graph: fc.option(
      fc.record({
        capacitySat: fc.constantFrom(2_000_000n, 2_000_000n, 2_000_000n, 1_000_000n, 3_000_000n),
        nodes: fc.constantFrom<readonly [string, string]>([seller, buyer], [buyer, seller], [seller, stranger]),
      }),
    ),
    otherChannelsBetween: fc.boolean(),
    probe: fc.constantFrom('reached' as const, 'not-reached' as const, 'not-tried' as const),
    said: fc.constantFrom({}, keylessEvidence, attested({})),
  })
  .map(({ said, ...seen }): ChannelEvidence => ({ ...seen, ...said }))
const anyTerms = fc
  .record({ isPrivate: fc.boolean(), rails: fc.boolean(), requiredConfirmations: fc.integer({ min: 0, max: 6 }) })
  .map((change) => ({ ...terms, ...change }))

test('a valid channel always has a confirmed, unspent output of the sold size, and a peer proof or a rails seller', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, fc.boolean(), fc.constantFrom(null, 'graph', 'probe'), (t, e, lastHeight, recorded) => {
      const verdict = judgeChannel(t, e, { lastHeight, recorded })
      fc.pre(verdict.verdict === 'valid')
      expect(e.output?.height).toBeGreaterThan(t.heldAtHeight - REORG_BLOCKS)
      expect(e.output?.valueSat).toBeGreaterThanOrEqual(t.capacitySat)
      expect(e.output?.spentBy?.height ?? null).toBeNull()
      expect(verdict.hasUnconfirmedSpend).toBe(lastHeight && e.output?.spentBy !== null)
      expect(e.output?.spentBy === null || lastHeight).toBe(true)
      expect(verdict.confirmations).toBeGreaterThanOrEqual(lastHeight ? 1 : Math.max(1, t.requiredConfirmations))
      expect(verdict.peer !== null || (lastHeight && t.rails && 'attestation' in e)).toBe(true)
      expect(verdict.peer === 'graph' || t.rails || verdict.payoutWithheldUntil === withheld).toBe(true)
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('a recorded proof counts exactly like the same proof in the evidence', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, fc.boolean(), (t, e, lastHeight) => {
      const judgeRecorded = (recorded: 'graph' | 'probe'): ChannelVerdict => judgeChannel(t, e, { lastHeight, recorded })
      expect(judgeRecorded('probe')).toEqual(judgeChannel(t, { ...e, probe: 'reached' }, { lastHeight }))
      fc.pre(e.graph === null && e.output?.valueSat === graph.capacitySat)
      expect(judgeRecorded('graph')).toEqual(judgeChannel(t, { ...e, graph }, { lastHeight }))
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('more proof never invalidates a valid channel, and the last height never changes a decided verdict', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, (t, e) => {
      const now = judgeChannel(t, e, { lastHeight: false })
      fc.pre(now.verdict !== 'undecided')
      expect(judgeChannel(t, e, { lastHeight: true }).verdict).toBe(now.verdict)
      const announced = { capacitySat: e.output?.valueSat ?? 0n, nodes: [seller, buyer] } as const
      expect(
        judgeChannel(t, { ...e, graph: announced }, { lastHeight: false }).verdict === 'valid' || now.verdict !== 'valid',
      ).toBe(true)
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('the texts that nodes sign never change', () => {
  expect(formatChannelAttestation({ ...attestation, channelType: 'a\nb' })).toBe(
    `penstock channel attestation 1\noutpoint ${outpoint}\ncapacity_sat 2000000\nnode_keys ${seller} ${buyer}\nfunding_keys ${fundingA} ${fundingB}\nchannel_type "a\\nb"\npush_sat 0\nreserve_sat 20000`,
  )
  const stock = { outpoint, capacitySat: 1n, nodeKeys: attestation.nodeKeys, channelType: '', pushSat: 0n, reserveSat: 0n }
  expect(formatChannelAttestation(stock)).toContain('\nfunding_keys -\n')
  expect(formatFundsAttestation({ pubkey: seller, confirmedSats: 5n, at: 17 })).toBe(
    `penstock funds attestation 1\npubkey ${seller}\nconfirmed_sats 5\nat 17`,
  )
})
