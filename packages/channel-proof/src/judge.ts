import type { ChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import { fundingScript, scriptKind, taprootFundingScript } from '@penstock/bitcoin/script.ts'

/**
 * Decides if the evidence proves a channel. A buyer cannot withhold the proof to get the channel for free, and a seller
 * cannot create the proof alone. The functions are pure: the caller supplies the evidence.
 */

/**
 * The depth, in blocks, of a re-organisation that the verdict tolerates. A submitted outpoint has to be younger than the
 * hold. A re-organisation may then move its transaction to a lower block. The verdict therefore rejects a channel only if it
 * is older than the hold by this many blocks.
 */
export const REORG_BLOCKS = 6

/** The terms of the sale that the channel must meet. Amounts are in sat. */
export type SoldChannelTerms = {
  readonly sellerPubkey: string
  readonly buyerPubkey: string
  readonly capacitySat: bigint
  readonly isPrivate: boolean
  /** The seller belongs to the rails cluster. */
  readonly rails: boolean
  /** The chain height when the payment was held. An older channel cannot be the channel that was bought. */
  readonly heldAtHeight: number
  readonly requiredConfirmations: number
}

/** The fields of the chain port's output that the verdict needs. */
export type FundingOutput = {
  readonly outpoint: string
  readonly valueSat: bigint
  readonly script: string
  readonly height: number | null
  readonly spentBy: { readonly txid: string; readonly height: number | null } | null
}

export type ChannelEvidence = {
  readonly tipHeight: number
  /** Null if neither the chain nor the mempool contains the output. */
  readonly output: FundingOutput | null
  readonly attestation?: ChannelAttestation
  /** The key that signed the attestation. An attestation by another key than the seller's proves nothing and blames no one. */
  readonly attestationSigner?: string
  /** The channel with this outpoint in our own node's graph. */
  readonly graph: { readonly capacitySat: bigint; readonly nodes: readonly [string, string] } | null
  /** Our graph has another channel between the two nodes, which could have carried the probe instead. */
  readonly otherChannelsBetween: boolean
  readonly probe: 'reached' | 'not-reached' | 'not-tried'
}

export type InvalidChannelReason =
  | 'value-too-small'
  | 'not-a-funding-output'
  | 'script-mismatch'
  | 'older-than-the-hold'
  | 'announced-nodes'
  | 'announced-capacity'
  | 'attested-outpoint'
  | 'attested-capacity'
  | 'attested-nodes'
  | 'attested-push'

export type ValidChannel = {
  readonly verdict: 'valid'
  readonly chain: true
  readonly peer: 'graph' | 'probe' | null
  readonly confirmations: number
  readonly payoutWithheldUntil: 'none' | 'announcement-or-1008-blocks'
  /** A spend is in the mempool. At the last height it does not count against the proofs; the payout waits for its outcome. */
  readonly hasUnconfirmedSpend: boolean
}
export type InvalidChannel = { readonly verdict: 'wrong'; readonly reason: InvalidChannelReason; readonly sentence: string }
/** A block contained the spend before the settlement. The closer of the channel is unknown, so the verdict blames no one. */
export type SpentChannel = { readonly verdict: 'spent'; readonly sentence: string }
/** `spend`: a spend is in the mempool; the verdict follows when it confirms or vanishes. */
export type UndecidedChannel = {
  readonly verdict: 'undecided'
  readonly waitingFor: 'transaction' | 'confirmations' | 'peer-proof' | 'spend'
}
export type ChannelVerdict = ValidChannel | InvalidChannel | SpentChannel | UndecidedChannel

type JudgeOptions = { readonly lastHeight: boolean; readonly recorded?: 'graph' | 'probe' | null }

/**
 * @param lastHeight whether this is the last chance to decide. One confirmation is then enough, and the payment of an
 * undecided channel is cancelled. A rails seller then needs no peer proof if its node signed an attestation, which ties the
 * output to both nodes.
 * @param recorded an earlier peer proof of this outpoint; it stays valid, even if a node became unreachable
 */
export function judgeChannel(
  terms: SoldChannelTerms,
  evidence: ChannelEvidence,
  { lastHeight, recorded }: JudgeOptions,
): ChannelVerdict {
  const violation =
    findOutputViolation(terms, evidence) ??
    findAnnouncementViolation(terms, evidence) ??
    findAttestationViolation(terms, evidence)
  if (violation) return { verdict: 'wrong', reason: violation[0], sentence: violation[1] }
  const { output, tipHeight } = evidence
  if (!output) return { verdict: 'undecided', waitingFor: 'transaction' }
  if (output.spentBy && output.spentBy.height !== null)
    return {
      verdict: 'spent',
      sentence: `Transaction ${output.spentBy.txid} in block ${output.spentBy.height} spends the output.`,
    }
  const hasUnconfirmedSpend = output.spentBy !== null
  if (hasUnconfirmedSpend && !lastHeight) return { verdict: 'undecided', waitingFor: 'spend' }
  const confirmations = output.height === null ? 0 : Math.max(0, tipHeight - output.height + 1)
  if (confirmations < Math.max(1, lastHeight ? 1 : terms.requiredConfirmations))
    return { verdict: 'undecided', waitingFor: 'confirmations' }

  const valid = { verdict: 'valid', chain: true, confirmations, hasUnconfirmedSpend } as const
  if (evidence.graph || recorded === 'graph') return { ...valid, peer: 'graph', payoutWithheldUntil: 'none' }
  if (isProbeConclusive(terms, evidence, recorded === 'probe'))
    return { ...valid, peer: 'probe', payoutWithheldUntil: terms.isPrivate ? 'none' : 'announcement-or-1008-blocks' }
  if (lastHeight && terms.rails && findSellerAttestation(terms, evidence))
    return { ...valid, peer: null, payoutWithheldUntil: 'announcement-or-1008-blocks' }
  return { verdict: 'undecided', waitingFor: 'peer-proof' }
}

/**
 * A seller with changed software could forward the probe over another channel that it has with the same buyer. Another
 * channel that appears later therefore invalidates a recorded probe, too.
 * A private channel is never announced, so no later evidence can confirm its probe. Its probe therefore counts only for a
 * seller in the rails cluster.
 */
const isProbeConclusive = (terms: SoldChannelTerms, evidence: ChannelEvidence, isRecorded: boolean): boolean =>
  (evidence.probe === 'reached' || isRecorded) && !evidence.otherChannelsBetween && (terms.rails || !terms.isPrivate)

type Violation = readonly [InvalidChannelReason, string] | undefined

function findOutputViolation(terms: SoldChannelTerms, evidence: ChannelEvidence): Violation {
  const { output } = evidence
  if (!output) return undefined
  const kind = scriptKind(output.script)
  if (kind !== 'p2wsh' && kind !== 'p2tr')
    return ['not-a-funding-output', `The output is of type ${kind}; a channel's funding output is P2WSH or P2TR.`]
  if (output.valueSat < terms.capacitySat)
    return ['value-too-small', `The output has ${output.valueSat} sat; ${terms.capacitySat} sat were sold.`]
  if (output.height !== null && output.height <= terms.heldAtHeight - REORG_BLOCKS)
    return [
      'older-than-the-hold',
      `The output is in block ${output.height}; the payment was held at height ${terms.heldAtHeight}.`,
    ]
  const keys = findSellerAttestation(terms, evidence)?.fundingKeys
  if (keys && fundingScriptOf(kind, keys) !== output.script.toLowerCase())
    return ['script-mismatch', 'The output is not the 2-of-2 of the attested funding keys.']
  return undefined
}

/** @returns undefined if a P2TR aggregate is needed and a key is invalid */
function fundingScriptOf(kind: 'p2wsh' | 'p2tr', keys: readonly [string, string]): string | undefined {
  if (kind === 'p2wsh') return fundingScript(...keys)
  return keys.every(isPubkey) ? taprootFundingScript(...keys) : undefined
}

function findAnnouncementViolation(terms: SoldChannelTerms, { graph, output }: ChannelEvidence): Violation {
  if (!graph) return undefined
  if (!isSamePair(graph.nodes, [terms.sellerPubkey, terms.buyerPubkey]))
    return ['announced-nodes', 'The channel is announced between other nodes.']
  if (graph.capacitySat < terms.capacitySat || (output && graph.capacitySat !== output.valueSat))
    return ['announced-capacity', `The channel is announced with ${graph.capacitySat} sat; ${terms.capacitySat} sat were sold.`]
  return undefined
}

function findAttestationViolation(terms: SoldChannelTerms, evidence: ChannelEvidence): Violation {
  const { output } = evidence
  const attestation = findSellerAttestation(terms, evidence)
  if (!attestation) return undefined
  if (output && attestation.outpoint.toLowerCase() !== output.outpoint)
    return ['attested-outpoint', 'The attestation is about another outpoint.']
  if (!isSamePair(attestation.nodeKeys, [terms.sellerPubkey, terms.buyerPubkey]))
    return ['attested-nodes', 'The attestation names other nodes.']
  if (attestation.capacitySat < terms.capacitySat || (output && attestation.capacitySat !== output.valueSat))
    return [
      'attested-capacity',
      `${attestation.capacitySat} sat are attested, ${terms.capacitySat} sat were sold${output ? `, the output has ${output.valueSat} sat` : ''}.`,
    ]
  if (attestation.pushSat > 0n)
    return ['attested-push', `${attestation.pushSat} sat were pushed to the other side; inbound capacity was sold.`]
  return undefined
}

const findSellerAttestation = (
  terms: SoldChannelTerms,
  { attestation, attestationSigner }: ChannelEvidence,
): ChannelAttestation | undefined =>
  attestationSigner?.toLowerCase() === terms.sellerPubkey.toLowerCase() ? attestation : undefined

const isSamePair = (one: readonly [string, string], other: readonly [string, string]): boolean =>
  normalisePair(one) === normalisePair(other)

const normalisePair = (pair: readonly [string, string]): string =>
  pair
    .map((key) => key.toLowerCase())
    .sort()
    .join()
