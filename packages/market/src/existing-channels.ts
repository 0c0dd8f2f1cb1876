import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Graph } from '@penstock/ports/lightning.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'

type ExistingChannelPorts = {
  readonly graph: Pick<Graph, 'between'>
  readonly limits: Pick<Limits, 'touch' | 'lastSeen'>
  readonly clock: Pick<Clock, 'now'>
}
type ChannelRequest = { readonly isPrivate: boolean; readonly destination: { readonly pubkey: string } }

/** Within this time after the request, a public channel is in the graph of every node. */
const ANNOUNCED_WITHIN_MS = DAY_MS

const keyOf = (seller: string, buyer: string): string => `announced-soon/${seller}/${buyer}`

/**
 * Records that a seller was asked to open a public channel to the buyer, which is announced hours later. Until then a probe
 * cannot prove a private channel of the same seller to this buyer. A lost record delays such an order, and loses no money.
 */
export async function recordRequestedChannel(
  { limits, clock }: Pick<ExistingChannelPorts, 'limits' | 'clock'>,
  { isPrivate, destination }: ChannelRequest,
  seller: string | undefined,
): Promise<void> {
  if (!isPrivate && seller !== undefined) await limits.touch(keyOf(seller, destination.pubkey), clock.now())
}

/**
 * Finds the sellers that have, or will soon have, an announced channel with the buyer. A probe cannot prove a second,
 * private channel between the two nodes, so the payment would be held until its last height. Such a seller is therefore a
 * last resort.
 * If the graph does not answer, no seller is a last resort, and the order may take longer.
 */
export async function findSellersWithChannel(
  ports: ExistingChannelPorts,
  order: ChannelRequest,
  sellers: readonly string[],
): Promise<readonly string[]> {
  if (!order.isPrivate) return []
  const connected = await Promise.all(
    [...new Set(sellers)].map(async (seller) => ((await hasChannel(ports, seller, order.destination.pubkey)) ? [seller] : [])),
  ).catch((error: unknown) => {
    if (error instanceof Fault) return []
    throw error
  })
  return connected.flat()
}

async function hasChannel({ graph, limits, clock }: ExistingChannelPorts, seller: string, buyer: string): Promise<boolean> {
  const requestedAt = await limits.lastSeen(keyOf(seller, buyer))
  if (requestedAt !== undefined && clock.now() - requestedAt < ANNOUNCED_WITHIN_MS) return true
  return (await graph.between(seller, buyer)).length > 0
}
