import { Fault } from '@penstock/kernel/result.ts'
import { within } from '@penstock/ports/within.ts'
import type { Context } from './ports.ts'

const ANSWER_TIMEOUT_MS = 10_000

/** A block as one of both shows it; where the node is ahead its hash is not known, and its height stands for it. */
export type Tip = { readonly height: number; readonly hash: string }

/**
 * The higher tip of the chain source and of our node: either may be behind, and the blocks that are left under a payment are
 * counted down by whoever has seen the most of them.
 * @throws Fault where neither answers
 */
export async function presentTip({
  chain: source,
  lightning,
  clock,
}: Pick<Context['ports'], 'chain' | 'lightning' | 'clock'>): Promise<Tip> {
  const [chain, node] = await Promise.allSettled([
    within(clock, ANSWER_TIMEOUT_MS, source.tip()),
    within(clock, ANSWER_TIMEOUT_MS, lightning.info()),
  ])
  if (node.status === 'fulfilled' && !(chain.status === 'fulfilled' && chain.value.height >= node.value.height))
    return { height: node.value.height, hash: `node ${node.value.height}` }
  if (chain.status === 'rejected') throw new Fault('neither the chain nor the node tells its height')
  return chain.value
}
