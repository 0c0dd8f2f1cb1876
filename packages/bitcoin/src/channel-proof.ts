import type { Attestation } from './attestation.ts'
import { isPubkey } from './pubkey.ts'
import { fundingScript, scriptKind, taprootFundingScript } from './script.ts'

/**
 * What proves a channel: nothing that a buyer could withhold to have it for free, and nothing that a seller could make alone.
 * Pure: whoever judges brings the evidence.
 */

/**
 * A re-organisation may put a young transaction into a block below the one that it was in first. Where the naming is
 * judged, once, nothing may be as old as the hold; afterwards a channel is only called older than that beyond this depth.
 */
export const REORG_BLOCKS = 6

/** What was sold. */
export type ChannelTerms = {
  readonly sellerPubkey: string
  readonly buyerPubkey: string
  readonly capacitySat: bigint
  readonly isPrivate: boolean
  /** The seller belongs to the rails cluster. */
  readonly rails: boolean
  /** Height of the chain when the payment was held: a channel from before is not the one that was bought. */
  readonly heldAtHeight: number
  readonly requiredConfirmations: number
}

/** The chain port's output, as far as it matters here. */
export type FundingOutput = {
  readonly outpoint: string
  readonly valueSat: bigint
  readonly script: string
  readonly height: number | null
  readonly spentBy: { readonly txid: string; readonly height: number | null } | null
}

export type Evidence = {
  readonly tipHeight: number
  /** Null: neither chain nor mempool has it. */
  readonly output: FundingOutput | null
  readonly attestation?: Attestation
  /** The key that signed it. An attestation of anybody but the seller's node proves nothing and accuses nobody. */
  readonly attestationSigner?: string
  /** The channel with this outpoint in our own node's graph. */
  readonly graph: { readonly capacitySat: bigint; readonly nodes: readonly [string, string] } | null
  /** Our graph knows another channel between the two that could have carried the probe's amount instead. */
  readonly otherChannelsBetween: boolean
  readonly probe: 'reached' | 'not-reached' | 'not-tried'
}

export type WrongReason =
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

export type Valid = {
  readonly verdict: 'valid'
  readonly chain: true
  readonly peer: 'graph' | 'probe' | null
  readonly confirmations: number
  readonly payoutWithheldUntil: 'none' | 'announcement-or-1008-blocks'
  /** A spend waits in the mempool: it counts against neither proof at the last height, and the payout waits for its end. */
  readonly spendWaits: boolean
}
export type Wrong = { readonly verdict: 'wrong'; readonly reason: WrongReason; readonly sentence: string }
/** In a block, before the money was taken. Who closed the channel is not known, so it accuses nobody. */
export type Spent = { readonly verdict: 'spent'; readonly sentence: string }
/** `spend`: a spend waits in the mempool; it decides when it confirms or vanishes. */
export type Undecided = {
  readonly verdict: 'undecided'
  readonly waitingFor: 'transaction' | 'confirmations' | 'peer-proof' | 'spend'
}
export type Verdict = Valid | Wrong | Spent | Undecided

type When = { readonly lastHeight: boolean; readonly recorded?: 'graph' | 'probe' | null }

/**
 * @param lastHeight it is now or never: one confirmation is enough, and a rails seller needs no peer proof where its node
 * has signed what the output is, since nothing else would tie it to the two nodes. What is still undecided then is cancelled.
 * @param recorded a peer proof of this outpoint that was seen before and recorded: it stays, whoever hides since
 */
export function judge(terms: ChannelTerms, evidence: Evidence, { lastHeight, recorded }: When): Verdict {
  const wrong = wrongOutput(terms, evidence) ?? wrongAnnouncement(terms, evidence) ?? wrongAttestation(terms, evidence)
  if (wrong) return { verdict: 'wrong', reason: wrong[0], sentence: wrong[1] }
  const { output, tipHeight } = evidence
  if (!output) return { verdict: 'undecided', waitingFor: 'transaction' }
  if (output.spentBy && output.spentBy.height !== null)
    return {
      verdict: 'spent',
      sentence: `Transaction ${output.spentBy.txid} in block ${output.spentBy.height} spends the output.`,
    }
  const spendWaits = output.spentBy !== null
  if (spendWaits && !lastHeight) return { verdict: 'undecided', waitingFor: 'spend' }
  const confirmations = output.height === null ? 0 : Math.max(0, tipHeight - output.height + 1)
  if (confirmations < Math.max(1, lastHeight ? 1 : terms.requiredConfirmations))
    return { verdict: 'undecided', waitingFor: 'confirmations' }

  const valid = { verdict: 'valid', chain: true, confirmations, spendWaits } as const
  if (evidence.graph || recorded === 'graph') return { ...valid, peer: 'graph', payoutWithheldUntil: 'none' }
  if (probeCounts(terms, evidence, recorded === 'probe'))
    return { ...valid, peer: 'probe', payoutWithheldUntil: terms.isPrivate ? 'none' : 'announcement-or-1008-blocks' }
  if (lastHeight && terms.rails && attestedBySeller(terms, evidence))
    return { ...valid, peer: null, payoutWithheldUntil: 'announcement-or-1008-blocks' }
  return { verdict: 'undecided', waitingFor: 'peer-proof' }
}

/**
 * A seller with changed software could forward the probe over another channel that it has with the same buyer. A
 * private channel will never be announced, so that outside the rails cluster nothing could confirm its probe later. That
 * another channel of the two shows up since speaks against a recorded probe as well.
 */
const probeCounts = (terms: ChannelTerms, evidence: Evidence, isRecorded: boolean): boolean =>
  (evidence.probe === 'reached' || isRecorded) && !evidence.otherChannelsBetween && (terms.rails || !terms.isPrivate)

type Fault = readonly [WrongReason, string] | undefined

function wrongOutput(terms: ChannelTerms, evidence: Evidence): Fault {
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
  const keys = attestedBySeller(terms, evidence)?.fundingKeys
  if (keys && scriptOf(kind, keys) !== output.script.toLowerCase())
    return ['script-mismatch', 'The output is not the 2-of-2 of the attested funding keys.']
  return undefined
}

/** @returns undefined where an aggregate is to be made of what is no key */
function scriptOf(kind: 'p2wsh' | 'p2tr', keys: readonly [string, string]): string | undefined {
  if (kind === 'p2wsh') return fundingScript(...keys)
  return keys.every(isPubkey) ? taprootFundingScript(...keys) : undefined
}

function wrongAnnouncement(terms: ChannelTerms, { graph, output }: Evidence): Fault {
  if (!graph) return undefined
  if (!samePair(graph.nodes, [terms.sellerPubkey, terms.buyerPubkey]))
    return ['announced-nodes', 'The channel is announced between other nodes.']
  if (graph.capacitySat < terms.capacitySat || (output && graph.capacitySat !== output.valueSat))
    return ['announced-capacity', `The channel is announced with ${graph.capacitySat} sat; ${terms.capacitySat} sat were sold.`]
  return undefined
}

function wrongAttestation(terms: ChannelTerms, evidence: Evidence): Fault {
  const { output } = evidence
  const attestation = attestedBySeller(terms, evidence)
  if (!attestation) return undefined
  if (output && attestation.outpoint.toLowerCase() !== output.outpoint)
    return ['attested-outpoint', 'The attestation is about another outpoint.']
  if (!samePair(attestation.nodeKeys, [terms.sellerPubkey, terms.buyerPubkey]))
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

const attestedBySeller = (terms: ChannelTerms, { attestation, attestationSigner }: Evidence): Attestation | undefined =>
  attestationSigner?.toLowerCase() === terms.sellerPubkey.toLowerCase() ? attestation : undefined

const samePair = (one: readonly [string, string], other: readonly [string, string]): boolean =>
  normalised(one) === normalised(other)

const normalised = (pair: readonly [string, string]): string =>
  pair
    .map((key) => key.toLowerCase())
    .sort()
    .join()
