import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Settlement } from '../../state.ts'
import type { HighestTip } from '../highest-tip.ts'
import { type EvidenceObservation, gatherHoldEvidence } from '../prove-channel.ts'
import type { SettlementJobContext } from '../stream-access.ts'

const RETRY_DELAY_MS = 3000

/** `evidence` is null if no outpoint is recorded, or if every try failed. `observedAt` is the start of the last try. */
export async function gatherEvidenceWithRetries(
  { ports }: SettlementJobContext,
  orderId: string,
  { hold }: Settlement,
  tip: HighestTip,
  tries: number,
): Promise<EvidenceObservation> {
  for (let left = tries - 1; ; left--) {
    const observedAt = ports.clock.monotonicMs()
    try {
      return { evidence: requireCurrentEvidence(await gatherHoldEvidence(ports, hold), tip, left), observedAt }
    } catch (error) {
      ports.log.error({ order: orderId, left, reason: String(error) }, 'guard: reading channel evidence failed')
      if (left === 0) return { evidence: null, observedAt }
      await ports.clock.sleep(RETRY_DELAY_MS)
    }
  }
}

/**
 * Refuses evidence from an older block, because a newer block may contain the funding. At the last try, a funding that the
 * evidence shows in a block counts nevertheless. @throws Fault
 */
function requireCurrentEvidence(evidence: EvidenceData | null, { height }: HighestTip, left: number): EvidenceData | null {
  if (!evidence || evidence.tipHeight >= height) return evidence
  if (left === 0 && evidence.output && evidence.output.height !== null) return evidence
  throw new Fault(`the chain source is at height ${evidence.tipHeight}, but the chain is at ${height}`)
}
