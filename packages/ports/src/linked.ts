import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from './clock.ts'
import type { Graph } from './lightning.ts'
import type { Limits } from './limits.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'

type Ports = {
  readonly graph: Pick<Graph, 'between'>
  readonly limits: Pick<Limits, 'touch' | 'lastSeen'>
  readonly clock: Pick<Clock, 'now'>
}
type Wanted = { readonly isPrivate: boolean; readonly destination: { readonly pubkey: string } }

/** By then everybody has heard of a channel that was opened. */
const HEARD_OF_WITHIN_MS = DAY_MS

const keyOf = (seller: string, buyer: string): string => `announced-soon/${seller}/${buyer}`

/**
 * Remembers who is asked for a public channel: it is announced hours after it was sold, and a private channel that is sold
 * in between would run into it. Forgotten, it costs patience and no money.
 */
export async function noteOpening(
  { limits, clock }: Pick<Ports, 'limits' | 'clock'>,
  { isPrivate, destination }: Wanted,
  seller: string | undefined,
): Promise<void> {
  if (!isPrivate && seller !== undefined) await limits.touch(keyOf(seller, destination.pubkey), clock.now())
}

/**
 * Sellers that have an announced channel with the buyer already, or will have one soon. Beside it a private channel cannot
 * be told apart by a probe, so its payment would be held until the last height: such a seller is a last
 * resort. Where the graph does not answer, nobody is set back: the order is served all the same, only later.
 */
export async function linkedSellers(ports: Ports, order: Wanted, sellers: readonly string[]): Promise<readonly string[]> {
  if (!order.isPrivate) return []
  const linked = await Promise.all(
    [...new Set(sellers)].map(async (seller) => ((await isLinked(ports, seller, order.destination.pubkey)) ? [seller] : [])),
  ).catch((error: unknown) => {
    if (error instanceof Fault) return []
    throw error
  })
  return linked.flat()
}

async function isLinked({ graph, limits, clock }: Ports, seller: string, buyer: string): Promise<boolean> {
  const askedAt = await limits.lastSeen(keyOf(seller, buyer))
  if (askedAt !== undefined && clock.now() - askedAt < HEARD_OF_WITHIN_MS) return true
  return (await graph.between(seller, buyer)).length > 0
}
