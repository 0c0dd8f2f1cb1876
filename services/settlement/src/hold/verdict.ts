import { judgeChannel, type ChannelVerdict } from '@penstock/channel-proof/judge.ts'
import { parseEvidence } from '@penstock/channel-proof/parse-evidence.ts'
import type { EvidenceData, PeerProof } from '@penstock/contracts/settlement.ts'
import type { ChannelTermsData } from '@penstock/contracts/shapes.ts'
import type { Hold } from './hold.ts'

type JudgeOptions = { readonly lastHeight: boolean; readonly recorded?: PeerProof | null }

/** Judges evidence in the form that messages use, with amounts as text. */
export const judgeEvidence = (terms: ChannelTermsData, evidence: EvidenceData, options: JudgeOptions): ChannelVerdict =>
  judgeChannel({ ...terms, capacitySat: BigInt(terms.capacitySat) }, parseEvidence(evidence), options)

/** Confirmations of the funding transaction; 0 while it is in no block. */
export const countConfirmations = ({ output, tipHeight }: EvidenceData): number =>
  output === null || output.height === null ? 0 : Math.max(0, tipHeight - output.height + 1)

/** The peer proof that is recorded for the present outpoint. */
export const recordedPeerProof = ({ registered, peerProof }: Hold): PeerProof | null =>
  peerProof !== null && peerProof.outpoint === registered?.outpoint ? peerProof.peer : null
