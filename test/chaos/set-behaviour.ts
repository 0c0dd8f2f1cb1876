import { readNetworkHeight } from '../support/invariants/network-state.ts'
import type { Product } from '../support/product.ts'
import type { BehaviourEntry } from './behaviour-log.ts'

/**
 * Requests the behaviour, and records the times and heights before and after it.
 * @param call sends or retries a request to the running market (`product`)
 */
export async function setAndLogBehaviour(
  call: (request: (product: Product) => Promise<void>) => Promise<void>,
  { alias, behaviour }: Pick<BehaviourEntry, 'alias' | 'behaviour'>,
): Promise<BehaviourEntry> {
  const requestedAt = Date.now()
  const heights: number[] = []
  await call(async (product) => {
    heights.push(readNetworkHeight(product.dataDir))
    await product.operator('POST', '/sim/behave', { alias, how: behaviour })
    heights.push(readNetworkHeight(product.dataDir))
  })
  return { alias, behaviour, requestedAt, doneAt: Date.now(), requestedHeight: heights[0] ?? 0, doneHeight: heights.at(-1) ?? 0 }
}
