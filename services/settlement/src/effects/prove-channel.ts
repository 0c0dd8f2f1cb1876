import { REORG_BLOCKS } from '@penstock/channel-proof/judge.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault, assert } from '@penstock/kernel/result.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/channel-proof/gather-evidence.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { lastHeightOfHold, mayDefer } from '../hold/heights.ts'
import type { Hold } from '../hold/hold.ts'
import { countConfirmations, judgeEvidence, recordedPeerProof } from '../hold/verdict.ts'
import type { Settlement } from '../state.ts'
import { isNodeReady } from './node-binding.ts'
import type { Outcome, SettlementEffectContext } from './ports.ts'

/** Covers the look-ups at the chain and the node, which are fast, and the probe, which has its own timeout. */
const EVIDENCE_TIMEOUT_MS = 20_000
const NODE_TIMEOUT_MS = 10_000

/** Runs the guard's check between two blocks, as soon as the order requests the settlement. */
export async function proveChannel({ hold }: Settlement, { ports }: SettlementEffectContext): Promise<Outcome<'Guard'>> {
  const observedAt = ports.clock.monotonicMs()
  const node = await withTimeout(ports.clock, NODE_TIMEOUT_MS, ports.lightning.info())
  const evidence = await gatherHoldEvidence(ports, hold)
  const evidenceHeight = evidence?.tipHeight ?? (await ports.chain.tip()).height
  // The node may have seen more blocks than the chain source. At the last height, evidence from a chain source that is behind
  // would count against the channel. Only the guard decides how long to wait for newer evidence.
  const height = Math.max(evidenceHeight, node.height)
  if (evidenceHeight < height && height >= (lastHeightOfHold(hold) ?? height))
    throw new Fault(`the chain source is at height ${evidenceHeight}, but the chain is at ${height}; the guard decides then`)
  const outpoint = hold.registered?.outpoint ?? null
  // The guard runs again before the next block, and decides how long to wait for a missing proof.
  const nodeReady = isNodeReady(node) && !(evidence && mayProofAppear(hold, evidence, height))
  return { type: 'Guard', data: { height, outpoint, evidence, observedAt, nodeReady } }
}

/**
 * Gathers the present evidence of the recorded outpoint; null if there is none. After the settlement only a private channel needs a probe.
 * @throws Fault if the chain or the node does not answer in time
 */
export async function gatherHoldEvidence(ports: EvidencePorts, { registered, payment, status, proof }: Hold) {
  // A cancelled payment may be an operator loss, which needs the same proofs.
  if (!registered) return null
  assert(payment, 'an outpoint is recorded while a payment is held')
  const { outpoint, terms, attestation } = registered
  const request = {
    outpoint,
    terms,
    attestation,
    fromHeight: searchStartHeight(payment.heldAtHeight),
    probe: status !== 'settled' || (terms.isPrivate && proof?.peer === null),
  }
  return withTimeout(ports.clock, EVIDENCE_TIMEOUT_MS, gatherEvidence(ports, request))
}

/**
 * Whether a peer proof is missing and may still appear. A rails seller whose buyer cannot be reached needs no peer proof.
 * From E − 18 on the decision does not wait.
 */
export const mayProofAppear = (hold: Hold, evidence: EvidenceData, height: number): boolean =>
  mayDefer(hold, height) &&
  !(hold.registered?.terms.rails === true && hold.reachTries?.reached === false) &&
  countConfirmations(evidence) > 0 &&
  !evidence.graph &&
  evidence.probe !== 'reached' &&
  (recordedPeerProof(hold) === null || evidence.otherChannelsBetween)

/** Nodes announce a channel at this number of confirmations (BOLT 7), shortly after the block. */
const ANNOUNCEMENT_CONFIRMATIONS = 6
/** Gathering the evidence takes about as long as an announcement, so the first poll finds most announcements. */
const ANNOUNCEMENT_POLL_DELAYS_MS = [0, 50, 100, 150, 300]

export type EvidenceObservation = {
  readonly evidence: EvidenceData | null
  /** When the observation began, by the monotonic clock. */
  readonly observedAt: number
}

/**
 * Waits for the announcement at the channel's sixth confirmation, if no other evidence is missing. An observation right after
 * that block may miss the announcement, and the next observation is much later. A younger channel has no announcement yet, and
 * the announcement time of an older channel is unknown.
 * @returns an observation with the announcement; undefined if it does not appear, or a call fails
 */
export async function observeOnceAnnounced(
  ports: EvidencePorts,
  hold: Hold,
  before: EvidenceData,
): Promise<EvidenceObservation | undefined> {
  const { registered, status } = hold
  if (status !== 'held' || !registered || registered.terms.isPrivate || before.graph) return undefined
  if (countConfirmations(before) !== ANNOUNCEMENT_CONFIRMATIONS) return undefined
  const verdict = judgeEvidence(registered.terms, before, { lastHeight: false, recorded: recordedPeerProof(hold) })
  if (verdict.verdict !== 'undecided' || verdict.waitingFor !== 'peer-proof') return undefined
  try {
    if (!(await isAnnouncedInTime(ports, registered.outpoint))) return undefined
    const observedAt = ports.clock.monotonicMs()
    const evidence = await gatherHoldEvidence(ports, hold)
    return evidence && evidence.tipHeight >= before.tipHeight ? { evidence, observedAt } : undefined
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

async function isAnnouncedInTime({ clock, lightning }: EvidencePorts, outpoint: string): Promise<boolean> {
  for (const delayMs of ANNOUNCEMENT_POLL_DELAYS_MS) {
    await clock.sleep(delayMs)
    if (await withTimeout(clock, NODE_TIMEOUT_MS, lightning.graph.channel(outpoint))) return true
  }
  return false
}

/** The lowest block that can contain the funding: a re-organisation may have moved it below the height of the hold. */
export const searchStartHeight = (heldAtHeight: number): number => Math.max(0, heldAtHeight - REORG_BLOCKS)
