import { hash } from 'node:crypto'
import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { AttestationData, ChannelTermsData } from '@penstock/contracts/shapes.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, ChainOutput } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Graph, GraphChannel, Lightning, Messages, ProbeOutcome } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { parseAttestation } from './parse-evidence.ts'

/** The amount of a probe: small enough for every channel, and large enough for the smallest HTLC that nodes forward. */
const PROBE_MSAT = 1000n
/** A cooperative node fails an HTLC with an unknown payment hash at once. A node that holds the HTLC proves nothing. */
const PROBE_TIMEOUT_MS = 10_000

export type EvidencePorts = { readonly lightning: Lightning; readonly chain: Chain; readonly clock: Clock }

export type EvidenceQuery = {
  readonly outpoint: string
  readonly terms: Pick<ChannelTermsData, 'sellerPubkey' | 'buyerPubkey'>
  readonly attestation: AttestationData | null
  /** The height at which a chain source without an index starts its search. */
  readonly fromHeight: number
  /** Whether to send a probe if our graph does not have the channel. */
  readonly probe: boolean
}

/**
 * Collects the evidence for `judgeChannel`: the present view of the chain and of our own node.
 * @throws Fault if the chain or the node does not answer. A probe that cannot be sent, or that the buyer's node holds,
 * proves nothing and causes no fault. The other evidence still counts.
 */
export async function gatherEvidence(
  { lightning, chain, clock }: EvidencePorts,
  { outpoint, terms, attestation, fromHeight, probe }: EvidenceQuery,
): Promise<EvidenceData> {
  const [tip, output, graph, attestationSigner] = await Promise.all([
    chain.tip(),
    chain.output(outpoint, fromHeight),
    lightning.graph.channel(outpoint),
    attestation ? recoverSigner(lightning.messages, attestation) : undefined,
  ])
  // The graph proves more than a probe. A probe that another channel could have carried proves nothing.
  const probedOutput = probe && !graph ? output : undefined
  // Only a probe needs this list. It may be long, and every block causes a check of all sales and leases.
  const channelsBetween = probedOutput ? await lightning.graph.between(terms.sellerPubkey, terms.buyerPubkey) : []
  const hasOtherChannels = channelsBetween.some((channel) => channel.outpoint !== outpoint)
  return {
    tipHeight: tip.height,
    output: output ? toOutputData(output, chain.sees.mempool) : null,
    attestation,
    attestationSigner: attestationSigner?.toLowerCase() ?? null,
    graph: graph ? toGraphData(graph, terms.sellerPubkey) : null,
    otherChannelsBetween: hasOtherChannels,
    probe: probedOutput && !hasOtherChannels ? await sendProbe(lightning.graph, clock, terms, probedOutput) : 'not-tried',
  }
}

const toOutputData = (
  { outpoint, valueSat, script, height, txIndex, spentBy, isSpendUnknown }: ChainOutput,
  seesMempool: boolean,
): NonNullable<EvidenceData['output']> => ({
  outpoint,
  valueSat: `${valueSat}`,
  script,
  height,
  txIndex,
  spentBy: spentBy && { ...spentBy },
  ...(spentBy === null && (isSpendUnknown || !seesMempool) && { isSpendUnknown: true }),
})

function toGraphData(
  { capacitySat, nodes, shortChannelId, policies }: GraphChannel,
  seller: string,
): NonNullable<EvidenceData['graph']> {
  const sellerPolicy = policies.find(({ node }) => node === seller)
  const sellerFees = sellerPolicy && { baseFeeMsat: `${sellerPolicy.baseFeeMsat}`, feeRatePpm: sellerPolicy.feeRatePpm }
  return { capacitySat: `${capacitySat}`, nodes: [...nodes], shortChannelId, ...(sellerFees && { sellerFees }) }
}

/** Caches signers by a hash of signature and text, because every block checks the same attestation again. */
const signerCache = new WeakMap<Messages, Map<string, string | undefined>>()
const SIGNER_CACHE_SIZE = 10_000

async function recoverSigner(messages: Messages, attestation: AttestationData): Promise<string | undefined> {
  const known = signerCache.get(messages) ?? new Map<string, string | undefined>()
  signerCache.set(messages, known)
  const text = formatChannelAttestation(parseAttestation(attestation))
  const key = hash('sha256', `${attestation.signature}\n${text}`)
  if (known.has(key)) return known.get(key)
  const signer = await messages.recover(text, attestation.signature)
  if (known.size >= SIGNER_CACHE_SIZE) known.clear()
  known.set(key, signer)
  return signer
}

async function sendProbe(
  graph: Graph,
  clock: Clock,
  { sellerPubkey, buyerPubkey }: EvidenceQuery['terms'],
  { outpoint, height, txIndex }: ChainOutput,
): Promise<EvidenceData['probe']> {
  const vout = parseOutpoint(outpoint)?.vout
  if (height === null || txIndex === null || vout === undefined) return 'not-tried'
  const shortChannelId = formatShortChannelId({ height, txIndex, vout })
  const probe = { via: sellerPubkey, shortChannelId, destination: buyerPubkey, amountMsat: PROBE_MSAT }
  try {
    const { reached } = await withTimeout(clock, PROBE_TIMEOUT_MS, probeOnce(graph, probe))
    return reached ? 'reached' : 'not-reached'
  } catch (error) {
    if (error instanceof Fault) return 'not-reached'
    throw error
  }
}

/** Pending probes by their route. A channel has few HTLC slots, so no second probe is sent while the first is held. */
const probesInFlight = new WeakMap<Graph, Map<string, Promise<ProbeOutcome>>>()

function probeOnce(graph: Graph, probe: Parameters<Graph['probe']>[0]): Promise<ProbeOutcome> {
  const probes = probesInFlight.get(graph) ?? new Map<string, Promise<ProbeOutcome>>()
  probesInFlight.set(graph, probes)
  const key = `${probe.via} ${probe.shortChannelId} ${probe.destination}`
  const known = probes.get(key)
  if (known) return known
  const sent = graph.probe(probe).finally(() => probes.delete(key))
  probes.set(key, sent)
  return sent
}
