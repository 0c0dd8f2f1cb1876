import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import { metaOf } from './event-codec.ts'

/** `facts`: those that wait, counted up to `LAG_COUNTED`. `seconds`: the age of the first of them, 0 where none waits. */
export type Lag = { readonly facts: number; readonly seconds: number }

/** Enough to see that somebody is far behind, and little to read. */
const LAG_COUNTED = 500

export type LagContext = { readonly store: EventStore; readonly progress: Progress; readonly basics: { readonly clock: Clock } }

/** What a follower of the log has not dealt with. */
export async function lagBehind(
  { store, progress, basics }: LagContext,
  follower: string,
  categories: readonly string[],
): Promise<Lag> {
  const { position } = await progress.load(follower)
  const page = await store.readAll(position, LAG_COUNTED, categories)
  const last = page.at(-1)
  // Where several share the work, what is done beyond the position is noted one by one.
  const done = new Set(last ? await progress.noted(follower, position, last.position) : [])
  const waiting = page.filter((event) => !done.has(event.position))
  const [first] = waiting
  return { facts: waiting.length, seconds: first ? Math.max(0, basics.clock.now() - metaOf(first).at) / 1000 : 0 }
}
