import { rpcChain } from '@penstock/adapters/bitcoind/chain.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type Attestation, attestationText } from '@penstock/bitcoin/attestation.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { scriptKind } from '@penstock/bitcoin/script.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/ports/evidence.ts'
import { fund, isActive, knowsChannel, openAnnounced } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { judged } from '@penstock/settlement/judged.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { fundingKeysOf } from './funding-keys.ts'
import { noChannel, type Opened, openBy } from './hand-seller.ts'
import { miner } from './miner.ts'
import { connected, network, noLightning, rpcOfChain, withoutNode } from './servers.ts'

const SAT = 500_000

type Said = Omit<Attestation, 'signature' | 'outpoint'>
type Case = { readonly outpoint: string; readonly said: Said | null; readonly terms?: object }

/** What the evidence of a real network proves, with blocks from lnd alone and from btcd. */
describe.skipIf(noLightning)('proofs of a channel', () => {
  const servers = network({ nodes: ['market', 'seller', 'buyer', 'other'] })
  const node = (alias: string) => servers().node(alias)
  let heldAtHeight = 0
  let byLnd: EvidencePorts
  let byBtcd: EvidencePorts
  beforeAll(async () => {
    for (const alias of ['market', 'seller', 'buyer']) await fund(servers(), node(alias), 10_000_000, 6)
    const toSeller = await openAnnounced(servers(), node('market'), node('seller'), 2_000_000)
    await knowsChannel(node('market'), toSeller)
    const market = connected(servers(), 'market')
    byLnd = { lightning: lndLightning(market), chain: lndChain(market), clock: systemClock }
    byBtcd = { ...byLnd, chain: rpcChain(rpcOfChain(servers()), systemClock) }
    heldAtHeight = await servers().chain.rpc<number>('getblockcount')
  })

  const open = (change: Partial<Opened> = {}) =>
    openBy(node('seller'), { servers: servers() }, { peer: node('buyer'), sat: SAT, ...change })
  const said = (): Said => ({
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
    const signature = signed && (await lndLightning(connected(servers(), 'seller')).messages.sign(attestationText(signed)))
    const attestation = signed && {
      ...signed,
      nodeKeys: [...signed.nodeKeys] as [string, string], // as it was, no longer read-only
      fundingKeys: signed.fundingKeys && ([...signed.fundingKeys] as [string, string]),
      capacitySat: `${signed.capacitySat}`,
      pushSat: `${signed.pushSat}`,
      reserveSat: `${signed.reserveSat}`,
      signature: signature ?? '',
    }
    return gatherEvidence(source, { outpoint, terms: termsOf(), attestation, fromHeight: heldAtHeight, probe: true })
  }

  const judgedBy = async (source: EvidencePorts, one: Case, lastHeight = false): Promise<object> =>
    judged(termsOf(one.terms), await evidence(one, source), { lastHeight })

  /** The same by both sources, once there is a block of it. */
  async function verdict(one: Case, lastHeight = false): Promise<object> {
    const first = await judgedBy(byLnd, one, lastHeight)
    expect(await judgedBy(byBtcd, one, lastHeight)).toEqual(first)
    return first
  }

  const valid = (peer: 'graph' | 'probe' | null, confirmations: number, isWithheld = false) => ({
    verdict: 'valid',
    chain: true,
    peer,
    confirmations,
    payoutWithheldUntil: isWithheld ? 'announcement-or-1008-blocks' : 'none',
    spendWaits: false,
  })
  const undecided = (waitingFor: string) => ({ verdict: 'undecided', waitingFor })

  let announced: string
  let secret: string
  let taproot: string
  let small: string
  /** Private, and to another node than the buyer's. */
  let misled: string
  let foreign: Awaited<ReturnType<typeof noChannel>>
  let fundingKeys: readonly [string, string]

  it('one that waits proves nothing, whoever looks', async () => {
    ;[secret, taproot, small, misled] = [
      await open({ isPrivate: true }),
      await open({ isPrivate: true, isTaproot: true }),
      await open({ isPrivate: true, sat: SAT - 1 }),
      await open({ isPrivate: true, peer: node('other') }),
    ]
    foreign = await noChannel({ servers: servers() }, SAT)
    await servers().chain.rpc('sendrawtransaction', foreign.raw)
    const one = { outpoint: secret, said: said() }
    expect(await judgedBy(byLnd, one)).toEqual(undecided('transaction'))
    expect(await judgedBy(byBtcd, one)).toEqual(undecided('confirmations'))
    await servers().mine()
    expect(await verdict(one)).toEqual(undecided('confirmations'))
    expect(await verdict({ outpoint: small, said: null })).toMatchObject({ verdict: 'wrong', reason: 'value-too-small' })
  })

  it('a private one: by what the seller’s node signed, the script of both keys, and a probe', async () => {
    await servers().mine(2)
    for (const outpoint of [secret, taproot])
      await Promise.all([isActive(node('seller'), outpoint), isActive(node('buyer'), outpoint)])
    await Promise.all([isActive(node('seller'), misled), isActive(node('other'), misled)])
    const { output } = await evidence({ outpoint: secret, said: null }, byLnd)
    expect(scriptKind(output?.script ?? '')).toBe('p2wsh')
    fundingKeys = await fundingKeysOf(node('seller'), node('buyer'), output?.script ?? '')
    const terms = { isPrivate: true }
    const one = { outpoint: secret, terms, said: { ...said(), fundingKeys } }
    expect(await verdict(one)).toEqual(valid('probe', 3))
    const [ours] = fundingKeys
    expect(await verdict({ ...one, said: { ...said(), fundingKeys: [ours, ours] } })).toMatchObject({ reason: 'script-mismatch' })
    // Outside the rails cluster nothing could ever confirm the probe of a private channel.
    expect(await verdict({ ...one, terms: { isPrivate: true, rails: false } })).toEqual(undecided('peer-proof'))
    expect(await verdict({ ...one, terms: { rails: false } })).toEqual(valid('probe', 3, true))
  })

  it('a taproot one: by the same, where both keys are one', async () => {
    const text = { ...said(), channelType: 'simplified_taproot' }
    const one = { outpoint: taproot, terms: { isPrivate: true }, said: text }
    const { output } = await evidence(one, byLnd)
    expect(scriptKind(output?.script ?? '')).toBe('p2tr')
    expect(await verdict(one)).toEqual(valid('probe', 3))
    const keys = await fundingKeysOf(node('seller'), node('buyer'), output?.script ?? '')
    expect(await verdict({ ...one, said: { ...text, fundingKeys: keys } })).toEqual(valid('probe', 3))
    expect(await verdict({ ...one, said: { ...text, fundingKeys } })).toMatchObject({ reason: 'script-mismatch' })
    expect(await verdict({ ...one, terms: { isPrivate: true, rails: false } })).toEqual(undecided('peer-proof'))
  })

  it('what the seller’s node signed is compared with what is there', async () => {
    const wrong = async (change: Partial<Said>) => verdict({ outpoint: secret, said: { ...said(), ...change } })
    expect(await wrong({ capacitySat: BigInt(SAT) + 1n })).toMatchObject({ reason: 'attested-capacity' })
    expect(await wrong({ nodeKeys: [node('seller').pubkey, node('market').pubkey] })).toMatchObject({ reason: 'attested-nodes' })
    expect(await wrong({ pushSat: 1n })).toMatchObject({ reason: 'attested-push' })
  })

  it('to somebody else and signed as the buyer’s, or anybody’s script: no probe, and at the last height a rails seller’s word alone', async () => {
    for (const outpoint of [misled, foreign.ofScript]) {
      const one = { outpoint, terms: { isPrivate: true }, said: said() }
      const shown = await evidence(one, byLnd)
      const late = (terms: object, seen = shown) => judged(termsOf({ ...one.terms, ...terms }), seen, { lastHeight: true })
      expect(shown.probe).toBe('not-reached')
      expect(await verdict(one)).toEqual(undecided('peer-proof'))
      // Nothing will ever announce it: the payout waits for all of its blocks.
      expect(late({})).toEqual(valid(null, 3, true))
      expect(late({ rails: false })).toEqual(undecided('peer-proof'))
      expect(late({}, { ...shown, attestation: null, attestationSigner: null })).toEqual(undecided('peer-proof'))
    }
    const keys = { outpoint: foreign.ofScript, said: { ...said(), fundingKeys } }
    expect(await verdict(keys, true)).toMatchObject({ reason: 'script-mismatch' })
  })

  it('an output of a key is no channel, whatever was signed, and at the last height too', async () => {
    expect(await verdict({ outpoint: foreign.ofKey, said: said() }, true)).toMatchObject({ reason: 'not-a-funding-output' })
  })

  it('older than the hold: somebody’s channel, and not the one that was bought', async () => {
    expect(await verdict({ outpoint: secret, said: said(), terms: { heldAtHeight: heldAtHeight + 10 } })).toMatchObject({
      reason: 'older-than-the-hold',
    })
  })

  it('at the last height, with the buyer’s node away: a rails seller is believed by one block and its signature, others are not', async () => {
    const late = await open({ isPrivate: true })
    await withoutNode(servers(), 'buyer', async () => {
      const one = { outpoint: late, said: said() }
      expect(await judgedBy(byLnd, one, true)).toEqual(undecided('transaction'))
      expect(await judgedBy(byBtcd, one, true)).toEqual(undecided('confirmations'))
      await servers().mine()
      expect(await verdict(one)).toEqual(undecided('confirmations'))
      expect(await verdict(one, true)).toEqual(valid(null, 1, true))
      expect(await verdict({ ...one, said: null }, true)).toEqual(undecided('peer-proof'))
      expect(await verdict({ ...one, terms: { rails: false } }, true)).toEqual(undecided('peer-proof'))
    })
    // Whoever was restarted is asked first: the other end may still show the dead connection.
    for (const alias of ['buyer', 'seller']) await isActive(node(alias), secret)
  })

  it('an announced one: by our own graph, and then no probe through another counts', async () => {
    announced = await open()
    await servers().mine(6)
    await until('it is announced', async () => knowsChannel(node('market'), announced))
    expect(await verdict({ outpoint: announced, said: null, terms: { rails: false } })).toEqual(valid('graph', 6))
    expect(await verdict({ outpoint: announced, said: null, terms: { buyerPubkey: node('market').pubkey } })).toMatchObject({
      reason: 'announced-nodes',
    })
    expect(await verdict({ outpoint: secret, said: said() })).toEqual(undecided('peer-proof'))
  })

  it('one in use whose block is taken back is never wrong: proven by a probe alone where it was, and undecided elsewhere', async () => {
    const blocks = miner(servers())
    const raw = await blocks.raw(announced.split(':')[0] ?? '')
    await Promise.all(['seller', 'buyer'].map((alias) => isActive(node(alias), announced)))
    const one = { outpoint: announced, said: said(), terms: { rails: false } }
    await blocks.replace(6, [raw])
    await until('it has left the graph', async () => (await evidence(one, byLnd)).graph === null)
    expect(await verdict(one)).toEqual(valid('probe', 7, true))
    await blocks.replace(7)
    expect(await judgedBy(byLnd, one, true)).toEqual(undecided('transaction'))
    expect(await judgedBy(byBtcd, one, true)).toEqual(undecided('confirmations'))
    await servers().mine(6)
    expect(await verdict(one, true)).toEqual(undecided('peer-proof'))
    expect(await verdict({ ...one, terms: {} }, true)).toEqual(valid(null, 6, true))
  })
})
