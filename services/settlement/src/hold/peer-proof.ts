import type { EvidenceData, PeerProof, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Hold } from './hold.ts'
import { judgeEvidence, recordedPeerProof } from './verdict.ts'
import type { SettlementCommandData, SettlementDecision } from '../state.ts'

/**
 * Records a peer proof of the recorded outpoint, which stays valid if the buyer goes offline later. If this evidence starts the
 * settlement, `SettlementStarted` contains the proof itself.
 */
export function withPeerProof(
  hold: Hold,
  { evidence, nodeReady }: SettlementCommandData<'Guard'>,
  decision: SettlementDecision,
): SettlementDecision {
  const peerProven = evidence && nodeReady ? toPeerProven(hold, evidence) : undefined
  if (!peerProven || 'refused' in decision || decision.facts.some(({ type }) => type === 'SettlementStarted')) return decision
  return { ...decision, facts: [peerProven, ...decision.facts] }
}

/** @returns the peer proof in this evidence; undefined if there is none, or if an equal or better proof is recorded */
export function toPeerProven(hold: Hold, evidence: EvidenceData): SettlementFact | undefined {
  const { registered } = hold
  const peer = registered && judgePeer(registered.terms, evidence)
  if (!peer || recordedPeerProof(hold) === peer || recordedPeerProof(hold) === 'graph') return undefined
  return { type: 'PeerProven', v: 1, data: { outpoint: registered.outpoint, peer, height: evidence.tipHeight } }
}

/** A channel that is being closed forwards no HTLC. If its output is spent, a successful probe used another channel. */
function judgePeer(terms: Parameters<typeof judgeEvidence>[0], evidence: EvidenceData): PeerProof | null {
  const verdict = judgeEvidence(terms, evidence, { lastHeight: true })
  if (verdict.verdict !== 'valid') return null
  return verdict.peer === 'probe' && verdict.hasUnconfirmedSpend ? null : verdict.peer
}
