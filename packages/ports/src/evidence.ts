import { hash } from 'node:crypto'
import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { Attestation, ChannelTerms } from '@penstock/contracts/shapes.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, Output } from './chain.ts'
import type { Clock } from './clock.ts'
import type { Graph, GraphChannel, Lightning, Messages, ProbeOutcome } from './lightning.ts'
import { within } from './within.ts'

/** Small enough for every channel, large enough for the least HTLC that nodes forward. */
const PROBE_MSAT = 1000n
/** A node that wants to be reached fails an unknown HTLC at once; one that keeps it proves nothing by that. */
const PROBE_TIMEOUT_MS = 10_000

export type EvidencePorts = { readonly lightning: Lightning; readonly chain: Chain; readonly clock: Clock }

export type Question = {
  readonly outpoint: string
  readonly terms: Pick<ChannelTerms, 'sellerPubkey' | 'buyerPubkey'>
  readonly attestation: Attestation | null
  /** Where a chain source without an index starts to look. */
  readonly fromHeight: number
  /** Whether to send a probe where our graph does not have the channel. */
  readonly probe: boolean
}

/**
 * What the chain and our own node show of a channel now: the evidence that `judge` of the package `bitcoin` weighs.
 * @throws Fault where the chain or the node does not answer; a probe that cannot be sent, or that the buyer's node keeps,
 * proves nothing and is no fault: the rest of the evidence counts all the same
 */
export async function gatherEvidence(
  { lightning, chain, clock }: EvidencePorts,
  { outpoint, terms, attestation, fromHeight, probe }: Question,
): Promise<EvidenceData> {
  const [tip, output, graph, attestationSigner] = await Promise.all([
    chain.tip(),
    chain.output(outpoint, fromHeight),
    lightning.graph.channel(outpoint),
    attestation ? signerOf(lightning.messages, attestation) : undefined,
  ])
  // The graph proves more than a probe does, and one that another channel could have carried proves nothing.
  const probed = probe && !graph ? output : undefined
  // Two nodes may have many channels, and on a block all sales and leases are looked at: only who is to be probed asks for them.
  const between = probed ? await lightning.graph.between(terms.sellerPubkey, terms.buyerPubkey) : []
  const others = between.some((channel) => channel.outpoint !== outpoint)
  return {
    tipHeight: tip.height,
    output: output ? outputData(output) : null,
    attestation,
    attestationSigner: attestationSigner?.toLowerCase() ?? null,
    graph: graph ? graphData(graph, terms.sellerPubkey) : null,
    otherChannelsBetween: others,
    probe: probed && !others ? await sendProbe(lightning.graph, clock, terms, probed) : 'not-tried',
  }
}

const outputData = ({ outpoint, valueSat, script, height, txIndex, spentBy }: Output): NonNullable<EvidenceData['output']> => ({
  outpoint,
  valueSat: `${valueSat}`,
  script,
  height,
  txIndex,
  spentBy: spentBy && { ...spentBy },
})

function graphData(
  { capacitySat, nodes, shortChannelId, policies }: GraphChannel,
  seller: string,
): NonNullable<EvidenceData['graph']> {
  const own = policies.find(({ node }) => node === seller)
  const sellerFees = own && { baseFeeMsat: `${own.baseFeeMsat}`, feeRatePpm: own.feeRatePpm }
  return { capacitySat: `${capacitySat}`, nodes: [...nodes], shortChannelId, ...(sellerFees && { sellerFees }) }
}

const signedText = ({ fundingKeys, ...attestation }: Attestation): string =>
  attestationText({
    ...attestation,
    ...(fundingKeys && { fundingKeys }),
    capacitySat: BigInt(attestation.capacitySat),
    pushSat: BigInt(attestation.pushSat),
    reserveSat: BigInt(attestation.reserveSat),
  })

/** Who signed what, by the signature and its text: the same attestation is weighed again on every block. */
const signers = new WeakMap<Messages, Map<string, string | undefined>>()
const SIGNERS_KEPT = 10_000

async function signerOf(messages: Messages, attestation: Attestation): Promise<string | undefined> {
  const known = signers.get(messages) ?? new Map<string, string | undefined>()
  signers.set(messages, known)
  const text = signedText(attestation)
  const name = hash('sha256', `${attestation.signature}\n${text}`)
  if (known.has(name)) return known.get(name)
  const signer = await messages.recover(text, attestation.signature)
  if (known.size >= SIGNERS_KEPT) known.clear()
  known.set(name, signer)
  return signer
}

async function sendProbe(
  graph: Graph,
  clock: Clock,
  { sellerPubkey, buyerPubkey }: Question['terms'],
  { outpoint, height, txIndex }: Output,
): Promise<EvidenceData['probe']> {
  const vout = parseOutpoint(outpoint)?.vout
  if (height === null || txIndex === null || vout === undefined) return 'not-tried'
  const shortChannelId = formatShortChannelId({ height, txIndex, vout })
  const probe = { via: sellerPubkey, shortChannelId, destination: buyerPubkey, amountMsat: PROBE_MSAT }
  try {
    const { reached } = await within(clock, PROBE_TIMEOUT_MS, oneProbe(graph, probe))
    return reached ? 'reached' : 'not-reached'
  } catch (error) {
    if (error instanceof Fault) return 'not-reached'
    throw error
  }
}

/** Probes under way, by what they go through. A channel carries few HTLCs: one that is kept must not be joined by hundreds. */
const underWay = new WeakMap<Graph, Map<string, Promise<ProbeOutcome>>>()

function oneProbe(graph: Graph, probe: Parameters<Graph['probe']>[0]): Promise<ProbeOutcome> {
  const probes = underWay.get(graph) ?? new Map<string, Promise<ProbeOutcome>>()
  underWay.set(graph, probes)
  const name = `${probe.via} ${probe.shortChannelId} ${probe.destination}`
  const known = probes.get(name)
  if (known) return known
  const sent = graph.probe(probe).finally(() => probes.delete(name))
  probes.set(name, sent)
  return sent
}
