import type { EventStore } from '@penstock/ports/event-store.ts'
import { indexAggregates, foldChecked, type Divergence, type FoldedStream, isDivergence, aggregateOf, emptyFold } from './fold.ts'
import { readOrderStreams } from './order-streams.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import type { Service } from '@penstock/runtime/service.ts'

/** A fact of an order and the state of its stream afterwards, both in today's shape. Amounts are decimal strings. */
export type ReplayedFact = {
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

/** `divergences` are the first differences of streams from their hashes; later facts of these streams are not shown. */
export type OrderReplay = {
  readonly order: string
  readonly facts: readonly ReplayedFact[]
  readonly divergences: readonly Divergence[]
}

/** Lists all facts about an order in the order of the log. @returns undefined if the order does not exist */
export async function replayOrder(
  store: Pick<EventStore, 'read'>,
  services: readonly Service<never>[],
  orderId: string,
): Promise<OrderReplay | undefined> {
  const streams = await readOrderStreams(store, orderId)
  if (!streams) return undefined
  const aggregates = indexAggregates(services)
  const facts: (ReplayedFact & { readonly order: bigint })[] = []
  const divergences: Divergence[] = []
  for (const { events, relevant } of streams) {
    const relevantEvents = new Set(relevant)
    let folded: FoldedStream | undefined
    for (const event of events) {
      const aggregate = aggregateOf(aggregates, event)
      const step = isDivergence(aggregate) ? aggregate : foldChecked(aggregate, folded ?? emptyFold(aggregate), event)
      if (isDivergence(step)) {
        divergences.push(step)
        break
      }
      folded = step
      const { meta, fact, state } = step
      if (!relevantEvents.has(event)) continue
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
        state: toPlainState(state),
      })
    }
  }
  // Positions can exceed the safe integers, so they are compared as bigints and shown as text.
  const sorted = facts.toSorted((a, b) => (a.order < b.order ? -1 : 1)).map(({ order: _, ...shown }) => shown)
  return { order: orderId, facts: sorted, divergences }
}

/** Converts a state to JSON values. */
const toPlainState = (state: unknown): unknown => JSON.parse(toCanonicalJson(state))
