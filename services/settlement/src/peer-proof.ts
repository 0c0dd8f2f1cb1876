import type { EvidenceData, PeerProof, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Hold } from './hold.ts'
import { judged, recordedOf } from './judged.ts'
import type { Data, SettlementDecision } from './state.ts'

/**
 * What tied the noted outpoint to the two nodes once stays a proof of it: a buyer that hides later has been seen at its
 * channel all the same. A settlement that is requested by it carries it already.
 */
export function keepingProof(
  hold: Hold,
  { evidence, nodeReady }: Data<'Guard'>,
  decision: SettlementDecision,
): SettlementDecision {
  const proven = evidence && nodeReady ? provenBy(hold, evidence) : undefined
  if (!proven || 'refused' in decision || decision.facts.some(({ type }) => type === 'SettleRequested')) return decision
  return { ...decision, facts: [proven, ...decision.facts] }
}

/** @returns the proof that this evidence shows, where none as good is recorded */
export function provenBy(hold: Hold, evidence: EvidenceData): SettlementFact | undefined {
  const { noted } = hold
  const peer = noted && peerOf(noted.terms, evidence)
  if (!peer || recordedOf(hold) === peer || recordedOf(hold) === 'graph') return undefined
  return { type: 'PeerProven', v: 1, data: { outpoint: noted.outpoint, peer, height: evidence.tipHeight } }
}

/** A channel that is being closed forwards nothing: a probe beside a spend went another way. */
function peerOf(terms: Parameters<typeof judged>[0], evidence: EvidenceData): PeerProof | null {
  const verdict = judged(terms, evidence, { lastHeight: true })
  if (verdict.verdict !== 'valid') return null
  return verdict.peer === 'probe' && verdict.spendWaits ? null : verdict.peer
}
