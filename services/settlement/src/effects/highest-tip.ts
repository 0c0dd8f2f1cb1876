import { Fault } from '@penstock/kernel/result.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { SettlementEffectContext } from './ports.ts'

const ANSWER_TIMEOUT_MS = 10_000

/** The higher of the two tips. If the node is ahead of the chain source, the block hash is unknown, and `hash` has the height. */
export type HighestTip = { readonly height: number; readonly hash: string }

/**
 * Reads the higher tip of the chain source and of our node. Either may be behind, and the higher tip decides how many blocks are
 * left for a payment.
 * @throws Fault if neither the chain source nor our node answers
 */
export async function readHighestTip({
  chain: source,
  lightning,
  clock,
}: Pick<SettlementEffectContext['ports'], 'chain' | 'lightning' | 'clock'>): Promise<HighestTip> {
  const [chain, node] = await Promise.allSettled([
    withTimeout(clock, ANSWER_TIMEOUT_MS, source.tip()),
    withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.info()),
  ])
  if (node.status === 'fulfilled' && !(chain.status === 'fulfilled' && chain.value.height >= node.value.height))
    return { height: node.value.height, hash: `node ${node.value.height}` }
  if (chain.status === 'rejected') throw new Fault('neither the chain nor the node reports its height')
  return chain.value
}
