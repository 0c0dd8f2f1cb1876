import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { Attestation, ChannelTerms } from '@penstock/contracts/shapes.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Chain, Output } from './chain.ts'
import type { Lightning } from './lightning.ts'

/** Small enough for every channel, large enough for the least HTLC that nodes forward. */
const PROBE_MSAT = 1000n

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
 * @throws Fault where the chain or the node does not answer; a probe that cannot be sent proves nothing and is no fault
 */
export async function gatherEvidence(
  { lightning, chain }: { readonly lightning: Lightning; readonly chain: Chain },
  { outpoint, terms, attestation, fromHeight, probe }: Question,
): Promise<EvidenceData> {
  const [tip, output, graph, between, attestationSigner] = await Promise.all([
    chain.tip(),
    chain.output(outpoint, fromHeight),
    lightning.graph.channel(outpoint),
    lightning.graph.between(terms.sellerPubkey, terms.buyerPubkey),
    attestation ? lightning.messages.recover(signedText(attestation), attestation.signature) : undefined,
  ])
  return {
    tipHeight: tip.height,
    output: output ? outputData(output) : null,
    attestation,
    attestationSigner: attestationSigner?.toLowerCase() ?? null,
    graph: graph ? { capacitySat: `${graph.capacitySat}`, nodes: [...graph.nodes], shortChannelId: graph.shortChannelId } : null,
    otherChannelsBetween: between.some((channel) => channel.outpoint !== outpoint),
    // The graph proves more than a probe does.
    probe: probe && output && !graph ? await sendProbe(lightning, terms, output) : 'not-tried',
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

const signedText = ({ fundingKeys, ...attestation }: Attestation): string =>
  attestationText({
    ...attestation,
    ...(fundingKeys && { fundingKeys }),
    capacitySat: BigInt(attestation.capacitySat),
    pushSat: BigInt(attestation.pushSat),
    reserveSat: BigInt(attestation.reserveSat),
  })

async function sendProbe(
  lightning: Lightning,
  { sellerPubkey, buyerPubkey }: Question['terms'],
  { outpoint, height, txIndex }: Output,
): Promise<EvidenceData['probe']> {
  const vout = parseOutpoint(outpoint)?.vout
  if (height === null || txIndex === null || vout === undefined) return 'not-tried'
  try {
    const { reached } = await lightning.graph.probe({
      via: sellerPubkey,
      shortChannelId: formatShortChannelId({ height, txIndex, vout }),
      destination: buyerPubkey,
      amountMsat: PROBE_MSAT,
    })
    return reached ? 'reached' : 'not-reached'
  } catch (error) {
    if (error instanceof Fault) return 'not-reached'
    throw error
  }
}
