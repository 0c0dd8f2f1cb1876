import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Attestation, attestationText, fundsAttestationText } from './attestation.ts'
import {
  type ChannelTerms,
  type Evidence,
  type FundingOutput,
  judge,
  REORG_BLOCKS,
  type Verdict,
  type WrongReason,
} from './channel-proof.ts'
import { pubkeyOf } from './pubkey.ts'
import { fundingScript, taprootFundingScript } from './script.ts'

const key = (byte: number): string => pubkeyOf(new Uint8Array(32).fill(byte))
const [seller, buyer, stranger, fundingA, fundingB] = [key(1), key(2), key(3), key(4), key(5)]
const outpoint = `${'ab'.repeat(32)}:1`

const terms: ChannelTerms = {
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
/** As stock nodes attest: they know no keys of the other side. */
const keyless: Attestation = {
  outpoint,
  capacitySat: 2_000_000n,
  nodeKeys: [seller, buyer],
  channelType: 'anchors',
  pushSat: 0n,
  reserveSat: 20_000n,
  signature: 'sig',
}
const keylessly = { attestation: keyless, attestationSigner: seller }
const attestation: Attestation = { ...keyless, fundingKeys: [fundingA, fundingB] }
const taproot: FundingOutput = { ...output, script: taprootFundingScript(fundingA, fundingB) }
const graph = { capacitySat: 2_000_000n, nodes: [buyer, seller] } as const
const evidence: Evidence = { tipHeight: 103, output, graph: null, otherChannelsBetween: false, probe: 'not-tried' }
const attested = (change: Partial<Attestation>): Partial<Evidence> => ({
  attestation: { ...attestation, ...change },
  attestationSigner: seller,
})

type Case = [string, { terms?: Partial<ChannelTerms>; evidence?: Partial<Evidence>; lastHeight?: boolean }, Partial<Verdict>]
const run = ({ terms: t, evidence: e, lastHeight = false }: Case[1]): Verdict =>
  judge({ ...terms, ...t }, { ...evidence, ...e }, { lastHeight })
const rails = { rails: true }
const withheld = 'announcement-or-1008-blocks'

describe('valid', () => {
  const cases: Case[] = [
    ['re-organised into a block below the hold', { evidence: { graph, output: { ...output, height: 95 } } }, { peer: 'graph' }],
    ['graph, nothing withheld', { evidence: { graph } }, { peer: 'graph', confirmations: 3, payoutWithheldUntil: 'none' }],
    [
      'graph beats other channels',
      { evidence: { graph, otherChannelsBetween: true, probe: 'not-reached' } },
      { peer: 'graph', payoutWithheldUntil: 'none' },
    ],
    [
      'more capacity than sold',
      { evidence: { output: { ...output, valueSat: 3_000_000n }, graph: { ...graph, capacitySat: 3_000_000n } } },
      { peer: 'graph' },
    ],
    ['probe alone, rails', { terms: rails, evidence: { probe: 'reached' } }, { peer: 'probe', payoutWithheldUntil: withheld }],
    [
      'probe alone, not rails: the payout waits',
      { evidence: { probe: 'reached' } },
      { peer: 'probe', payoutWithheldUntil: withheld },
    ],
    [
      'private, rails, probe',
      { terms: { ...rails, isPrivate: true }, evidence: { probe: 'reached' } },
      { peer: 'probe', payoutWithheldUntil: 'none' },
    ],
    ['a true attestation', { evidence: { graph, ...attested({}) } }, { peer: 'graph' }],
    [
      'keys in upper case',
      {
        terms: { sellerPubkey: seller.toUpperCase() },
        evidence: { graph, ...attested({ nodeKeys: [seller, buyer.toUpperCase()] }) },
      },
      { peer: 'graph' },
    ],
    [
      'taproot: the aggregate of the attested keys',
      { terms: { ...rails, isPrivate: true }, evidence: { probe: 'reached', output: taproot, ...attested({}) } },
      { peer: 'probe', payoutWithheldUntil: 'none' },
    ],
    [
      'taproot of keys that nobody tells: the peer proof ties it',
      { terms: rails, evidence: { probe: 'reached', output: taproot, ...keylessly } },
      { peer: 'probe' },
    ],
    [
      'last height: one confirmation and a peer proof',
      { evidence: { tipHeight: 101, graph }, lastHeight: true },
      { peer: 'graph', confirmations: 1, payoutWithheldUntil: 'none' },
    ],
    [
      'last height: rails without peer proof, by what its node signed',
      { terms: rails, evidence: { tipHeight: 101, ...attested({}) }, lastHeight: true },
      { peer: null, confirmations: 1, payoutWithheldUntil: withheld },
    ],
    [
      'last height: rails, taproot, by the keys that its node signed',
      { terms: rails, evidence: { tipHeight: 101, output: taproot, ...attested({}) }, lastHeight: true },
      { peer: null, confirmations: 1, payoutWithheldUntil: withheld },
    ],
    [
      'last height: rails, a probe that does not count',
      { terms: rails, evidence: { probe: 'reached', otherChannelsBetween: true, ...attested({}) }, lastHeight: true },
      { peer: null, payoutWithheldUntil: withheld },
    ],
    [
      'last height: not rails, by probe',
      { evidence: { tipHeight: 101, probe: 'reached' }, lastHeight: true },
      { peer: 'probe', payoutWithheldUntil: withheld },
    ],
  ]
  test.each(cases)('%s', (_, given, wanted) => expect(run(given)).toMatchObject({ verdict: 'valid', chain: true, ...wanted }))
})

describe('undecided', () => {
  const cases: Case[] = [
    ['nothing seen', { evidence: { output: null } }, { waitingFor: 'transaction' }],
    [
      'nothing seen at the last height',
      { terms: rails, evidence: { output: null }, lastHeight: true },
      { waitingFor: 'transaction' },
    ],
    ['in the mempool', { evidence: { output: { ...output, height: null }, graph } }, { waitingFor: 'confirmations' }],
    [
      'in the mempool at the last height',
      { terms: rails, evidence: { output: { ...output, height: null }, graph }, lastHeight: true },
      { waitingFor: 'confirmations' },
    ],
    ['too few confirmations', { evidence: { tipHeight: 102, graph } }, { waitingFor: 'confirmations' }],
    [
      'a block above a tip that went back',
      { evidence: { tipHeight: 99, graph }, lastHeight: true },
      { waitingFor: 'confirmations' },
    ],
    [
      'never without a confirmation, whatever is required',
      { terms: { requiredConfirmations: 0 }, evidence: { output: { ...output, height: null }, graph } },
      { waitingFor: 'confirmations' },
    ],
    ['no peer proof', {}, { waitingFor: 'peer-proof' }],
    ['a probe that failed', { terms: rails, evidence: { probe: 'not-reached' } }, { waitingFor: 'peer-proof' }],
    [
      'a probe beside another channel of the two',
      { terms: rails, evidence: { probe: 'reached', otherChannelsBetween: true } },
      { waitingFor: 'peer-proof' },
    ],
    [
      'private outside rails: its probe never counts',
      { terms: { isPrivate: true }, evidence: { probe: 'reached' } },
      { waitingFor: 'peer-proof' },
    ],
    [
      'private outside rails at the last height',
      { terms: { isPrivate: true }, evidence: { probe: 'reached' }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    ['last height: not rails, no peer proof', { evidence: attested({}), lastHeight: true }, { waitingFor: 'peer-proof' }],
    ['last height: rails, nothing signed', { terms: rails, lastHeight: true }, { waitingFor: 'peer-proof' }],
    [
      'last height: rails, signed by a stranger',
      { terms: rails, evidence: { ...attested({}), attestationSigner: stranger }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    [
      'a spend waits in the mempool',
      { evidence: { graph, output: { ...output, spentBy: { txid: 'ee', height: null } } } },
      { waitingFor: 'spend' },
    ],
    [
      'a spend in the mempool of a channel without a peer proof, at the last height',
      { evidence: { output: { ...output, spentBy: { txid: 'ee', height: null } } }, lastHeight: true },
      { waitingFor: 'peer-proof' },
    ],
    [
      'an attestation by a stranger accuses nobody',
      { evidence: { ...attested({ pushSat: 9n }), attestationSigner: stranger } },
      { waitingFor: 'peer-proof' },
    ],
  ]
  test.each(cases)('%s', (_, given, wanted) => expect(run(given)).toEqual({ verdict: 'undecided', ...wanted }))
})

const wrongCases: readonly (readonly [WrongReason, string, Partial<Evidence>])[] = [
  ['value-too-small', 'one sat less', { output: { ...output, valueSat: 1_999_999n } }],
  ['value-too-small', 'also in the mempool', { output: { ...output, valueSat: 1n, height: null } }],
  ['not-a-funding-output', 'a wallet output', { output: { ...output, script: `0014${'ab'.repeat(20)}` } }],
  ['script-mismatch', 'other keys than attested', attested({ fundingKeys: [fundingA, stranger] })],
  [
    'script-mismatch',
    'taproot, keys of an output that is none',
    { output: { ...output, script: `5120${'ab'.repeat(32)}` }, ...attested({}) },
  ],
  ['script-mismatch', 'taproot, other keys', { output: taproot, ...attested({ fundingKeys: [fundingA, stranger] }) }],
  ['script-mismatch', 'taproot, one key twice', { output: taproot, ...attested({ fundingKeys: [fundingA, fundingA] }) }],
  ['script-mismatch', 'taproot, no key', { output: taproot, ...attested({ fundingKeys: [fundingA, `02${'ff'.repeat(32)}`] }) }],
  ['older-than-the-hold', 'beyond what a re-organisation may have moved', { output: { ...output, height: 94 } }],
  ['announced-nodes', 'to somebody else', { graph: { ...graph, nodes: [seller, stranger] } }],
  ['announced-capacity', 'less', { graph: { ...graph, capacitySat: 1_000_000n } }],
  ['announced-capacity', 'not the value of the output', { graph: { ...graph, capacitySat: 2_500_000n } }],
  ['attested-outpoint', 'another one', attested({ outpoint: `${'cd'.repeat(32)}:1` })],
  ['attested-nodes', 'other nodes', attested({ nodeKeys: [seller, stranger] })],
  ['attested-capacity', 'less', attested({ capacitySat: 1_000_000n })],
  ['attested-capacity', 'not the value of the output', attested({ capacitySat: 2_500_000n })],
  ['attested-push', 'a sat pushed', attested({ pushSat: 1n })],
  ['attested-push', 'before anything was seen', { output: null, ...attested({ pushSat: 1n }) }],
]

describe('wrong, at any height and whatever else is proven', () => {
  test.each(wrongCases)('%s: %s', (reason, _, change) => {
    for (const lastHeight of [false, true])
      for (const known of [{}, { probe: 'reached' as const, graph: change.graph ?? graph }])
        expect(judge({ ...terms, rails: true }, { ...evidence, ...known, ...change }, { lastHeight })).toMatchObject({
          verdict: 'wrong',
          reason,
        })
  })
})

describe('a spend', () => {
  const spentBy = { txid: 'ee', height: 103 }
  const run = (change: Partial<Evidence>, lastHeight: boolean) =>
    judge({ ...terms, rails: true }, { ...evidence, graph, ...change }, { lastHeight })

  test('in a block accuses nobody, at any height', () => {
    const sentence = 'Transaction ee in block 103 spends the output.'
    for (const lastHeight of [false, true])
      expect(run({ output: { ...output, spentBy } }, lastHeight)).toEqual({ verdict: 'spent', sentence })
  })

  test('excuses no lie', () => {
    const lie = { output: { ...output, spentBy }, ...attested({ pushSat: 1n }) }
    expect(run(lie, true)).toMatchObject({ verdict: 'wrong', reason: 'attested-push' })
  })

  test('in the mempool counts against neither proof at the last height', () => {
    const inMempool = { output: { ...output, spentBy: { ...spentBy, height: null } } }
    expect(run(inMempool, true)).toMatchObject({ verdict: 'valid', peer: 'graph', spendWaits: true })
    expect(run({}, true)).toMatchObject({ verdict: 'valid', spendWaits: false })
  })
})

const anyEvidence = fc
  .record({
    tipHeight: fc.integer({ min: 90, max: 120 }),
    output: fc.option(
      fc.record({
        outpoint: fc.constant(outpoint),
        // The good ones more often, or hardly any evidence would be valid.
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
    said: fc.constantFrom({}, keylessly, attested({})),
  })
  .map(({ said, ...seen }): Evidence => ({ ...seen, ...said }))
const anyTerms = fc
  .record({ isPrivate: fc.boolean(), rails: fc.boolean(), requiredConfirmations: fc.integer({ min: 0, max: 6 }) })
  .map((change) => ({ ...terms, ...change }))

test('whatever the evidence: valid needs a confirmed output of the size that no block spends, and a peer proof or rails', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, fc.boolean(), fc.constantFrom(null, 'graph', 'probe'), (t, e, lastHeight, recorded) => {
      const verdict = judge(t, e, { lastHeight, recorded })
      fc.pre(verdict.verdict === 'valid')
      expect(e.output?.height).toBeGreaterThan(t.heldAtHeight - REORG_BLOCKS)
      expect(e.output?.valueSat).toBeGreaterThanOrEqual(t.capacitySat)
      expect(e.output?.spentBy?.height ?? null).toBeNull()
      expect(verdict.spendWaits).toBe(lastHeight && e.output?.spentBy !== null)
      expect(e.output?.spentBy === null || lastHeight).toBe(true)
      expect(verdict.confirmations).toBeGreaterThanOrEqual(lastHeight ? 1 : Math.max(1, t.requiredConfirmations))
      expect(verdict.peer !== null || (lastHeight && t.rails && 'attestation' in e)).toBe(true)
      expect(verdict.peer === 'graph' || t.rails || verdict.payoutWithheldUntil === withheld).toBe(true)
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('a recorded proof stands in for one that is not seen any more, and for nothing else', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, fc.boolean(), (t, e, lastHeight) => {
      const again = (recorded: 'graph' | 'probe'): Verdict => judge(t, e, { lastHeight, recorded })
      expect(again('probe')).toEqual(judge(t, { ...e, probe: 'reached' }, { lastHeight }))
      fc.pre(e.graph === null && e.output?.valueSat === graph.capacitySat)
      expect(again('graph')).toEqual(judge(t, { ...e, graph }, { lastHeight }))
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('more proof never makes a good channel bad, and the last height never takes a verdict back', () => {
  fc.assert(
    fc.property(anyTerms, anyEvidence, (t, e) => {
      const now = judge(t, e, { lastHeight: false })
      fc.pre(now.verdict !== 'undecided')
      expect(judge(t, e, { lastHeight: true }).verdict).toBe(now.verdict)
      const announced = { capacitySat: e.output?.valueSat ?? 0n, nodes: [seller, buyer] } as const
      expect(judge(t, { ...e, graph: announced }, { lastHeight: false }).verdict === 'valid' || now.verdict !== 'valid').toBe(
        true,
      )
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  )
})

test('the texts that nodes sign never change', () => {
  expect(attestationText({ ...attestation, channelType: 'a\nb' })).toBe(
    `penstock channel attestation 1\noutpoint ${outpoint}\ncapacity_sat 2000000\nnode_keys ${seller} ${buyer}\nfunding_keys ${fundingA} ${fundingB}\nchannel_type "a\\nb"\npush_sat 0\nreserve_sat 20000`,
  )
  const stock = { outpoint, capacitySat: 1n, nodeKeys: attestation.nodeKeys, channelType: '', pushSat: 0n, reserveSat: 0n }
  expect(attestationText(stock)).toContain('\nfunding_keys -\n')
  expect(fundsAttestationText({ pubkey: seller, confirmedSats: 5n, at: 17 })).toBe(
    `penstock funds attestation 1\npubkey ${seller}\nconfirmed_sats 5\nat 17`,
  )
})
