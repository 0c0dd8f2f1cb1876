import { REORG_BLOCKS } from '@penstock/bitcoin/channel-proof.ts'
import type { EvidenceData, SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Fault, must } from '@penstock/kernel/result.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/ports/evidence.ts'
import { within } from '@penstock/ports/within.ts'
import { lastHeightOf, mayWait } from '../heights.ts'
import type { Hold } from '../hold.ts'
import { confirmationsOf, judged, recordedOf } from '../judged.ts'
import type { Settlement } from '../state.ts'
import { isReady } from './own-node.ts'
import type { Context } from './ports.ts'

/** The chain and the node answer a look-up at once; a probe, which has a limit of its own, takes part of it. */
const EVIDENCE_TIMEOUT_MS = 20_000
const NODE_TIMEOUT_MS = 10_000

/** The guard's question between two blocks, asked at once when the order wishes to settle. */
export async function prove({ hold }: Settlement, { ports }: Context): Promise<Wanted<SettlementCommand>> {
  const lookedAt = ports.clock.monotonicMs()
  const node = await within(ports.clock, NODE_TIMEOUT_MS, ports.lightning.info())
  const evidence = await evidenceOf(ports, hold)
  const shownAt = evidence?.tipHeight ?? (await ports.chain.tip()).height
  // The node may have seen more blocks: fewer are left then. At the last height what the chain lacks would count against the
  // channel, and the guard alone knows how long it may be waited for.
  const height = Math.max(shownAt, node.height)
  if (shownAt < height && height >= (lastHeightOf(hold) ?? height))
    throw new Fault(`the chain is shown as of ${shownAt}, and its height is ${height}; the guard decides over the hold`)
  const outpoint = hold.noted?.outpoint ?? null
  // The guard comes again within the block, and has the last word over a proof that may still come.
  const nodeReady = isReady(node) && !(evidence && mayProofCome(hold, evidence, height))
  return { type: 'Guard', data: { height, outpoint, evidence, lookedAt, nodeReady } }
}

/**
 * What the noted outpoint shows now; null where none was noted. After settling a probe is not worth its while.
 * @throws Fault where the chain or the node does not answer in time
 */
export async function evidenceOf(ports: EvidencePorts, { noted, payment, status }: Hold) {
  // A payment that was let go may be a loss of the operator's, which wants the same proofs.
  if (!noted) return null
  must(payment, 'an outpoint is noted while a payment is held')
  const { outpoint, terms, attestation } = noted
  const question = { outpoint, terms, attestation, fromHeight: searchFrom(payment.heldAtHeight), probe: status !== 'settled' }
  return within(ports.clock, EVIDENCE_TIMEOUT_MS, gatherEvidence(ports, question))
}

/**
 * Whether a peer proof is missing that may still come. A rails seller whose buyer cannot be reached is believed without one,
 * and from E - 18 on nothing is waited for: then the node counts as what it is.
 */
export const mayProofCome = (hold: Hold, evidence: EvidenceData, height: number): boolean =>
  mayWait(hold, height) &&
  !(hold.noted?.terms.rails === true && hold.reachTries?.reached === false) &&
  confirmationsOf(evidence) > 0 &&
  !evidence.graph &&
  evidence.probe !== 'reached' &&
  (recordedOf(hold) === null || evidence.otherChannelsBetween)

/** From this depth on nodes announce a channel (BOLT 7), and tell of it a moment after the block that everybody has by then. */
const ANNOUNCED_AT = 6
/** The look itself takes about as long as nodes do: most are there when it is over. */
const ANNOUNCED_AFTER_MS = [0, 50, 100, 150, 300]

export type Looked = {
  readonly evidence: EvidenceData | null
  /** When the look began, by the monotonic clock. */
  readonly lookedAt: number
}

/**
 * Whoever looks as soon as there is a block may be too early for the announcement by a moment, and looks again only much
 * later: by that block, where nothing else is missing, it is waited for. A channel that is younger has none to come, and of
 * one that is older nobody knows when.
 * @returns a look from when our graph had the channel; undefined where it stays away, or nobody says so
 */
export async function onceAnnounced(ports: EvidencePorts, hold: Hold, before: EvidenceData): Promise<Looked | undefined> {
  const { noted, status } = hold
  if (status !== 'held' || !noted || noted.terms.isPrivate || before.graph) return undefined
  if (confirmationsOf(before) !== ANNOUNCED_AT) return undefined
  const verdict = judged(noted.terms, before, { lastHeight: false, recorded: recordedOf(hold) })
  if (verdict.verdict !== 'undecided' || verdict.waitingFor !== 'peer-proof') return undefined
  try {
    if (!(await isAnnounced(ports, noted.outpoint))) return undefined
    const lookedAt = ports.clock.monotonicMs()
    const evidence = await evidenceOf(ports, hold)
    return evidence && evidence.tipHeight >= before.tipHeight ? { evidence, lookedAt } : undefined
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

async function isAnnounced({ clock, lightning }: EvidencePorts, outpoint: string): Promise<boolean> {
  for (const pause of ANNOUNCED_AFTER_MS) {
    await clock.sleep(pause)
    if (await within(clock, NODE_TIMEOUT_MS, lightning.graph.channel(outpoint))) return true
  }
  return false
}

/** A re-organisation may have put the funding into a block below the one at which the payment was held. */
export const searchFrom = (heldAtHeight: number): number => Math.max(0, heldAtHeight - REORG_BLOCKS)
