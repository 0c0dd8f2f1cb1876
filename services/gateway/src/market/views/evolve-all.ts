import type { Fact } from '@penstock/kernel/message.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** Returns the ids of the events' aggregates, sorted, so that all replicas lock rows in the same order. */
export const idsOf = (events: readonly Event[]): readonly string[] =>
  [...new Set(events.map(({ aggregateId }) => aggregateId))].toSorted()

/**
 * Applies events in their order to the views of their aggregates.
 * @param before the stored views by the ids of their aggregates
 * @returns the views after their last events, by id, in the order of `idsOf`
 */
export function evolveAll<View, F extends Fact>(
  before: ReadonlyMap<string, View>,
  events: readonly Event<F>[],
  evolve: (view: View | undefined, event: Event<F>) => View,
): readonly (readonly [string, View])[] {
  const views = new Map(before)
  for (const event of events) views.set(event.aggregateId, evolve(views.get(event.aggregateId), event))
  return [...views].toSorted(([a], [b]) => (a < b ? -1 : 1))
}
