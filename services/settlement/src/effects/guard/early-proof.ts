import type { ServiceJob } from '@penstock/runtime/service.ts'
import { lastHeightOfHold } from '../../hold/heights.ts'
import type { Hold } from '../../hold/hold.ts'
import { recordedPeerProof } from '../../hold/verdict.ts'
import { toPeerProven } from '../../hold/peer-proof.ts'
import type { Settlement } from '../../state.ts'
import type { GuardState } from './guard-state.ts'
import { isOnOtherNode, isNodeReady, readNodeInfo } from '../node-binding.ts'
import type { SettlementPorts } from '../ports.ts'
import type { HighestTip } from '../highest-tip.ts'
import { gatherHoldEvidence } from '../prove-channel.ts'
import { decideNow, type SettlementJobContext, loadSettlement } from '../stream-access.ts'

/** Concurrent probes. A buyer that holds a probe delays few other probes, and never the guard, which is a separate job. */
const CONCURRENCY = 4

/**
 * Records peer proofs before or without a settlement request, because a buyer that proves its channel now may go offline later.
 * It runs once per block, for the holds in the guard's last snapshot.
 */
export const earlyProofJob = ({ snapshot }: GuardState): ServiceJob<SettlementPorts> => ({
  name: 'early-proof',
  sends: ['settlement.Guard'],
  async run(context, signal) {
    for await (const tip of context.ports.chain.tips(signal))
      await recordEarlyProofs(context, snapshot.last?.orders ?? new Map(), tip)
  },
})

async function recordEarlyProofs(
  context: SettlementJobContext,
  orders: ReadonlyMap<string, Settlement>,
  tip: HighestTip,
): Promise<void> {
  const node = await readNodeInfo(context.ports)
  if (!node || !isNodeReady(node)) return
  const isWanted = (hold: Hold): boolean => mayProveEarly(hold, tip.height) && !isOnOtherNode(hold, node.pubkey)
  const queue = [...orders].filter(([, { hold }]) => isWanted(hold)).values()
  const worker = async (): Promise<void> => {
    for (const [orderId] of queue) await recordEarlyProof(context, orderId, tip, isWanted)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** After a settlement request, and from the last height on, the guard itself gathers the proof. */
function mayProveEarly(hold: Hold, height: number): boolean {
  const { status, registered, settlementWanted } = hold
  if (status !== 'held' || !registered || settlementWanted?.outpoint === registered.outpoint) return false
  return height < (lastHeightOfHold(hold) ?? 0) && recordedPeerProof(hold) === null
}

/** Only logs a failure, because the next block tries again. */
async function recordEarlyProof(
  context: SettlementJobContext,
  orderId: string,
  tip: HighestTip,
  isWanted: (hold: Hold) => boolean,
): Promise<void> {
  const { clock, log } = context.ports
  try {
    const { hold } = await loadSettlement(context, orderId)
    if (!isWanted(hold)) return
    const observedAt = clock.monotonicMs()
    const evidence = await gatherHoldEvidence(context.ports, hold)
    if (!evidence || !toPeerProven(hold, evidence)) return
    // A round takes long if buyers hold probes. Meanwhile the node may have restarted, or been replaced.
    const node = await readNodeInfo(context.ports)
    if (!node || !isNodeReady(node) || isOnOtherNode(hold, node.pubkey)) return
    const guardData = { height: tip.height, outpoint: hold.registered?.outpoint ?? null, evidence, observedAt, nodeReady: true }
    // The guard may send its own command for the same block, so this command has a different id.
    await decideNow(context, orderId, { type: 'Guard', data: guardData }, `${tip.hash} early`)
  } catch (error) {
    log.warn({ order: orderId, reason: String(error) }, 'gathering a peer proof failed; retrying at the next block')
  }
}
