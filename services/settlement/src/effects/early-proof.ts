import type { Job } from '@penstock/runtime/service.ts'
import { lastHeightOf } from '../heights.ts'
import type { Hold } from '../hold.ts'
import { recordedOf } from '../judged.ts'
import { provenBy } from '../peer-proof.ts'
import type { Settlement } from '../state.ts'
import type { Custody } from './custody.ts'
import { isElsewhere, isReady, nodeNow } from './own-node.ts'
import type { SettlementPorts } from './ports.ts'
import type { Tip } from './present-height.ts'
import { evidenceOf } from './prove.ts'
import { decideNow, type Jobs, stateOf } from './record.ts'

/** Whoever keeps our probe keeps it from few others; it never holds up the guard, which has a round of its own. */
const SIDE_BY_SIDE = 4

/**
 * Before the order wishes to settle, or where its wish never comes: a buyer that proves its channel now may hide later. Each
 * block is looked at once, by what the guard has seen of the holds.
 */
export const earlyProofJob = ({ sight }: Custody): Job<SettlementPorts> => ({
  name: 'early-proof',
  async run(context, signal) {
    for await (const tip of context.ports.chain.tips(signal)) await keepProofs(context, sight.last?.orders ?? new Map(), tip)
  },
})

async function keepProofs(context: Jobs, orders: ReadonlyMap<string, Settlement>, tip: Tip): Promise<void> {
  const node = await nodeNow(context.ports)
  if (!node || !isReady(node)) return
  const isWanted = (hold: Hold): boolean => mayProveEarly(hold, tip.height) && !isElsewhere(hold, node.pubkey)
  const queue = [...orders].filter(([, { hold }]) => isWanted(hold)).values()
  const lane = async (): Promise<void> => {
    for (const [orderId] of queue) await keepProof(context, orderId, tip, isWanted)
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
}

/** From the order's wish and from the last height on the guard looks by itself. */
function mayProveEarly(hold: Hold, height: number): boolean {
  const { status, noted, settleAsked } = hold
  if (status !== 'held' || !noted || settleAsked?.outpoint === noted.outpoint) return false
  return height < (lastHeightOf(hold) ?? 0) && recordedOf(hold) === null
}

/** Nothing hangs on it: what cannot be learnt now may be at the next block. */
async function keepProof(context: Jobs, orderId: string, tip: Tip, isWanted: (hold: Hold) => boolean): Promise<void> {
  const { clock, log } = context.ports
  try {
    const { hold } = await stateOf(context, orderId)
    if (!isWanted(hold)) return
    const lookedAt = clock.monotonicMs()
    const evidence = await evidenceOf(context.ports, hold)
    if (!evidence || !provenBy(hold, evidence)) return
    // A round takes long where buyers keep probes, and the node may have been restarted, or be another one by now.
    const node = await nodeNow(context.ports)
    if (!node || !isReady(node) || isElsewhere(hold, node.pubkey)) return
    const word = { height: tip.height, outpoint: hold.noted?.outpoint ?? null, evidence, lookedAt, nodeReady: true }
    // The guard's word may come by the same block, and is no repetition.
    await decideNow(context, orderId, { type: 'Guard', data: word }, `${tip.hash} early`)
  } catch (error) {
    log.warn({ order: orderId, reason: String(error) }, 'a peer proof could not be looked for; the next block tries again')
  }
}
