import { Fault } from '@penstock/kernel/result.ts'
import type { Graph } from './lightning.ts'

/**
 * Sellers that have an announced channel with the buyer already. Beside it a private channel cannot be told apart by a
 * probe (decisions, A4a), so its payment would be held until the last height: such a seller is a last resort.
 * Where the graph does not answer, nobody is set back: the order is served all the same, only later.
 */
export async function linkedSellers(
  graph: Pick<Graph, 'between'>,
  order: { readonly isPrivate: boolean; readonly destination: { readonly pubkey: string } },
  sellers: readonly string[],
): Promise<readonly string[]> {
  if (!order.isPrivate) return []
  const linked = await Promise.all(
    [...new Set(sellers)].map(async (seller) =>
      (await graph.between(seller, order.destination.pubkey)).length > 0 ? [seller] : [],
    ),
  ).catch((error: unknown) => {
    if (error instanceof Fault) return []
    throw error
  })
  return linked.flat()
}
