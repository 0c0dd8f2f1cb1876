import type { EventStore } from '@penstock/ports/event-store.ts'
import { aggregatesOf, checkedStep, type Divergence, type Folded, isDivergence, ownerOf, unfolded } from './audit-fold.ts'
import { orderStreams } from './audit-order.ts'
import { canonical } from './canonical.ts'
import type { Service } from './service.ts'

/** A fact of an order and the state of its stream afterwards, both in today's shape. Amounts are decimal strings. */
export type Replayed = {
  readonly position: string
  readonly at: number
  readonly stream: string
  readonly revision: number
  readonly fact: string
  readonly v: number
  readonly command: string
  readonly data: unknown
  readonly state: unknown
}

/** `divergence`: where a stream stops being what its hashes say; what follows in it is not shown. */
export type Replay = { readonly order: string; readonly facts: readonly Replayed[]; readonly divergences: readonly Divergence[] }

/** Everything that is recorded about an order, in the order of the log. @returns undefined where there is no such order */
export async function replayOrder(
  store: Pick<EventStore, 'read'>,
  services: readonly Service<never>[],
  orderId: string,
): Promise<Replay | undefined> {
  const streams = await orderStreams(store, orderId)
  if (!streams) return undefined
  const aggregates = aggregatesOf(services)
  const facts: (Replayed & { readonly order: bigint })[] = []
  const divergences: Divergence[] = []
  for (const { events, about } of streams) {
    const wanted = new Set(about)
    let folded: Folded | undefined
    for (const event of events) {
      const aggregate = ownerOf(aggregates, event)
      const step = isDivergence(aggregate) ? aggregate : checkedStep(aggregate, folded ?? unfolded(aggregate), event)
      if (isDivergence(step)) {
        divergences.push(step)
        break
      }
      folded = step
      const { meta, fact, state } = step
      if (!wanted.has(event)) continue
      const { position, stream, revision } = event
      facts.push({
        order: position,
        position: `${position}`,
        at: meta.at,
        stream,
        revision,
        fact: fact.type,
        v: fact.v,
        command: meta.command,
        data: fact.data,
        state: plain(state),
      })
    }
  }
  // Positions are of any size, so they are compared as they are and shown as text.
  const sorted = facts.toSorted((a, b) => (a.order < b.order ? -1 : 1)).map(({ order: _, ...shown }) => shown)
  return { order: orderId, facts: sorted, divergences }
}

/** A state as JSON has it. */
const plain = (state: unknown): unknown => JSON.parse(canonical(state))
