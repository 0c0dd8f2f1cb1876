import { rpcChain } from '@penstock/adapters/bitcoind/chain.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type ChannelAttestation, formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { scriptKind } from '@penstock/bitcoin/script.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/channel-proof/gather-evidence.ts'
import { fundNode, waitUntilActive, waitUntilInGraph, openAnnouncedChannel } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { judgeEvidence } from '@penstock/settlement/hold/verdict.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { findFundingKeys } from './funding-keys.ts'
import { createNonChannelTransaction, type ChannelOpening, openChannelFrom } from './manual-seller.ts'
import { createManualMiner } from './miner.ts'
import { connectToNode, useLightningServers, isLightningMissing, createChainRpc, runWithoutNode } from './servers.ts'

const SAT = 500_000

type SignedTerms = Omit<ChannelAttestation, 'signature' | 'outpoint'>
type Case = { readonly outpoint: string; readonly said: SignedTerms | null; readonly terms?: object }

/** Verdicts on evidence from a real network, with blocks from lnd alone and with blocks from btcd. */
describe.skipIf(isLightningMissing)('proofs of a channel', () => {
  const servers = useLightningServers({ nodes: ['market', 'seller', 'buyer', 'other'] })
  const node = (alias: string) => servers().node(alias)
  let heldAtHeight = 0
  let byLnd: EvidencePorts
  let byBtcd: EvidencePorts
  beforeAll(async () => {
    for (const alias of ['market', 'seller', 'buyer']) await fundNode(servers(), node(alias), 10_000_000, 6)
    const toSeller = await openAnnouncedChannel(servers(), node('market'), node('seller'), 2_000_000)
    await waitUntilInGraph(node('market'), toSeller)
    const market = connectToNode(servers(), 'market')
    byLnd = { lightning: lndLightning(market), chain: lndChain(market), clock: systemClock }
    byBtcd = { ...byLnd, chain: rpcChain(createChainRpc(servers()), systemClock) }
    heldAtHeight = await servers().chain.rpc<number>('getblockcount')
  })

  const open = (change: Partial<ChannelOpening> = {}) =>
    openChannelFrom(node('seller'), { servers: servers() }, { peer: node('buyer'), sat: SAT, ...change })
  const createSignedTerms = (): SignedTerms => ({
    capacitySat: BigInt(SAT),
    nodeKeys: [node('seller').pubkey, node('buyer').pubkey],
    channelType: 'anchors',
    pushSat: 0n,
    reserveSat: 5000n,
  })

  const termsOf = (change: object = {}) => ({
    sellerPubkey: node('seller').pubkey,
    buyerPubkey: node('buyer').pubkey,
    capacitySat: `${SAT}`,
    isPrivate: false,
    rails: true,
    heldAtHeight,
    requiredConfirmations: 3,
    ...change,
  })

  async function evidence({ outpoint, said: text }: Case, source: EvidencePorts): Promise<EvidenceData> {
    const signed = text && { outpoint, ...text }
    const signature =
      signed && (await lndLightning(connectToNode(servers(), 'seller')).messages.sign(formatChannelAttestation(signed)))
    const attestation = signed && {
      ...signed,
      nodeKeys: [...signed.nodeKeys] as [string, string], // the same array, not read-only
      fundingKeys: signed.fundingKeys && ([...signed.fundingKeys] as [string, string]),
      capacitySat: `${signed.capacitySat}`,
      pushSat: `${signed.pushSat}`,
      reserveSat: `${signed.reserveSat}`,
      signature: signature ?? '',
    }
    return gatherEvidence(source, { outpoint, terms: termsOf(), attestation, fromHeight: heldAtHeight, probe: true })
  }

  const judgeWith = async (source: EvidencePorts, one: Case, lastHeight = false): Promise<object> =>
    judgeEvidence(termsOf(one.terms), await evidence(one, source), { lastHeight })

  /** @returns the verdict; both chain sources must give the same verdict once the funding is in a block */
  async function verdict(one: Case, lastHeight = false): Promise<object> {
    const first = await judgeWith(byLnd, one, lastHeight)
    expect(await judgeWith(byBtcd, one, lastHeight)).toEqual(first)
    return first
  }

  const valid = (peer: 'graph' | 'probe' | null, confirmations: number, isWithheld = false) => ({
    verdict: 'valid',
    chain: true,
    peer,
    confirmations,
    payoutWithheldUntil: isWithheld ? 'announcement-or-1008-blocks' : 'none',
    hasUnconfirmedSpend: false,
  })
  const undecided = (waitingFor: string) => ({ verdict: 'undecided', waitingFor })

  let announced: string
  let secret: string
  let taproot: string
  let small: string
  /** A private channel to another node than the buyer's. */
  let misled: string
  let nonChannelSale: Awaited<ReturnType<typeof createNonChannelTransaction>>
  let fundingKeys: readonly [string, string]

  it('a funding in the mempool is undecided with either chain source', async () => {
    ;[secret, taproot, small, misled] = [
      await open({ isPrivate: true }),
      await open({ isPrivate: true, isTaproot: true }),
      await open({ isPrivate: true, sat: SAT - 1 }),
      await open({ isPrivate: true, peer: node('other') }),
    ]
    nonChannelSale = await createNonChannelTransaction({ servers: servers() }, SAT)
    await servers().chain.rpc('sendrawtransaction', nonChannelSale.rawTransaction)
    const one = { outpoint: secret, said: createSignedTerms() }
    expect(await judgeWith(byLnd, one)).toEqual(undecided('transaction'))
    expect(await judgeWith(byBtcd, one)).toEqual(undecided('confirmations'))
    await servers().mine()
    expect(await verdict(one)).toEqual(undecided('confirmations'))
    expect(await verdict({ outpoint: small, said: null })).toMatchObject({ verdict: 'wrong', reason: 'value-too-small' })
  })

  it('a private channel is proven by the seller’s attestation, the script of both keys, and a probe', async () => {
    await servers().mine(2)
    for (const outpoint of [secret, taproot])
      await Promise.all([waitUntilActive(node('seller'), outpoint), waitUntilActive(node('buyer'), outpoint)])
    await Promise.all([waitUntilActive(node('seller'), misled), waitUntilActive(node('other'), misled)])
    const { output } = await evidence({ outpoint: secret, said: null }, byLnd)
    expect(scriptKind(output?.script ?? '')).toBe('p2wsh')
    fundingKeys = await findFundingKeys(node('seller'), node('buyer'), output?.script ?? '')
    const terms = { isPrivate: true }
    const one = { outpoint: secret, terms, said: { ...createSignedTerms(), fundingKeys } }
    expect(await verdict(one)).toEqual(valid('probe', 3))
    const [ours] = fundingKeys
    expect(await verdict({ ...one, said: { ...createSignedTerms(), fundingKeys: [ours, ours] } })).toMatchObject({
      reason: 'script-mismatch',
    })
    // Outside the rails cluster, no announcement could ever confirm the probe of a private channel.
    expect(await verdict({ ...one, terms: { isPrivate: true, rails: false } })).toEqual(undecided('peer-proof'))
    expect(await verdict({ ...one, terms: { rails: false } })).toEqual(valid('probe', 3, true))
  })

  it('a taproot channel, whose output key combines both keys, is proven in the same way', async () => {
    const text = { ...createSignedTerms(), channelType: 'simplified_taproot' }
    const one = { outpoint: taproot, terms: { isPrivate: true }, said: text }
    const { output } = await evidence(one, byLnd)
    expect(scriptKind(output?.script ?? '')).toBe('p2tr')
    expect(await verdict(one)).toEqual(valid('probe', 3))
    const keys = await findFundingKeys(node('seller'), node('buyer'), output?.script ?? '')
    expect(await verdict({ ...one, said: { ...text, fundingKeys: keys } })).toEqual(valid('probe', 3))
    expect(await verdict({ ...one, said: { ...text, fundingKeys } })).toMatchObject({ reason: 'script-mismatch' })
    expect(await verdict({ ...one, terms: { isPrivate: true, rails: false } })).toEqual(undecided('peer-proof'))
  })

  it('a wrong capacity, node or push amount in the seller’s attestation is detected', async () => {
    const expectWrong = async (change: Partial<SignedTerms>) =>
      verdict({ outpoint: secret, said: { ...createSignedTerms(), ...change } })
    expect(await expectWrong({ capacitySat: BigInt(SAT) + 1n })).toMatchObject({ reason: 'attested-capacity' })
    expect(await expectWrong({ nodeKeys: [node('seller').pubkey, node('market').pubkey] })).toMatchObject({
      reason: 'attested-nodes',
    })
    expect(await expectWrong({ pushSat: 1n })).toMatchObject({ reason: 'attested-push' })
  })

  it('a probe cannot reach a falsely attested channel, which is valid at the last height only for a rails seller', async () => {
    for (const outpoint of [misled, nonChannelSale.scriptOutpoint]) {
      const one = { outpoint, terms: { isPrivate: true }, said: createSignedTerms() }
      const collected = await evidence(one, byLnd)
      const judgeLate = (terms: object, seen = collected) =>
        judgeEvidence(termsOf({ ...one.terms, ...terms }), seen, { lastHeight: true })
      expect(collected.probe).toBe('not-reached')
      expect(await verdict(one)).toEqual(undecided('peer-proof'))
      // No announcement can arrive, so the payout of a valid channel waits for the full number of blocks.
      expect(judgeLate({})).toEqual(valid(null, 3, true))
      expect(judgeLate({ rails: false })).toEqual(undecided('peer-proof'))
      expect(judgeLate({}, { ...collected, attestation: null, attestationSigner: null })).toEqual(undecided('peer-proof'))
    }
    const keys = { outpoint: nonChannelSale.scriptOutpoint, said: { ...createSignedTerms(), fundingKeys } }
    expect(await verdict(keys, true)).toMatchObject({ reason: 'script-mismatch' })
  })

  it('an output to a key is not a channel, even with an attestation, also at the last height', async () => {
    expect(await verdict({ outpoint: nonChannelSale.keyOutpoint, said: createSignedTerms() }, true)).toMatchObject({
      reason: 'not-a-funding-output',
    })
  })

  it('a channel that is older than the hold is invalid', async () => {
    expect(
      await verdict({ outpoint: secret, said: createSignedTerms(), terms: { heldAtHeight: heldAtHeight + 10 } }),
    ).toMatchObject({
      reason: 'older-than-the-hold',
    })
  })

  it('at the last height, an attestation proves a channel to an unreachable buyer, only for a rails seller', async () => {
    const outpoint = await open({ isPrivate: true })
    await runWithoutNode(servers(), 'buyer', async () => {
      const one = { outpoint, said: createSignedTerms() }
      expect(await judgeWith(byLnd, one, true)).toEqual(undecided('transaction'))
      expect(await judgeWith(byBtcd, one, true)).toEqual(undecided('confirmations'))
      await servers().mine()
      expect(await verdict(one)).toEqual(undecided('confirmations'))
      expect(await verdict(one, true)).toEqual(valid(null, 1, true))
      expect(await verdict({ ...one, said: null }, true)).toEqual(undecided('peer-proof'))
      expect(await verdict({ ...one, terms: { rails: false } }, true)).toEqual(undecided('peer-proof'))
    })
    // The restarted node is checked first, because the other node may still show the broken connection.
    for (const alias of ['buyer', 'seller']) await waitUntilActive(node(alias), secret)
  })

  it('our own graph proves an announced channel; a probe then proves no other channel of the same nodes', async () => {
    announced = await open()
    await servers().mine(6)
    await waitForResult('the channel is announced', async () => waitUntilInGraph(node('market'), announced))
    expect(await verdict({ outpoint: announced, said: null, terms: { rails: false } })).toEqual(valid('graph', 6))
    expect(await verdict({ outpoint: announced, said: null, terms: { buyerPubkey: node('market').pubkey } })).toMatchObject({
      reason: 'announced-nodes',
    })
    expect(await verdict({ outpoint: secret, said: createSignedTerms() })).toEqual(undecided('peer-proof'))
  })

  it('a used channel whose block is re-organised is never invalid: a probe proves it, or it is undecided', async () => {
    const blocks = createManualMiner(servers())
    const raw = await blocks.raw(announced.split(':')[0] ?? '')
    await Promise.all(['seller', 'buyer'].map((alias) => waitUntilActive(node(alias), announced)))
    const one = { outpoint: announced, said: createSignedTerms(), terms: { rails: false } }
    await blocks.replace(6, [raw])
    await waitForResult('the channel has left the graph', async () => (await evidence(one, byLnd)).graph === null)
    expect(await verdict(one)).toEqual(valid('probe', 7, true))
    await blocks.replace(7)
    expect(await judgeWith(byLnd, one, true)).toEqual(undecided('transaction'))
    expect(await judgeWith(byBtcd, one, true)).toEqual(undecided('confirmations'))
    await servers().mine(6)
    expect(await verdict(one, true)).toEqual(undecided('peer-proof'))
    expect(await verdict({ ...one, terms: {} }, true)).toEqual(valid(null, 6, true))
  })
})
