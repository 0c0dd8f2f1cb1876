import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import { readMeta } from '../commands/event-codec.ts'

/** `facts` is the number of waiting facts, up to `MAX_COUNTED`. `seconds` is the age of the first waiting fact, or 0. */
export type ConsumerLag = { readonly facts: number; readonly seconds: number }

/** Maximum number of counted facts: enough to show a large lag, and few enough to read quickly. */
const MAX_COUNTED = 500

export type LagContext = {
  readonly store: EventStore
  readonly progress: ConsumerProgress
  readonly basePorts: { readonly clock: Clock }
}

/** Counts the facts that a follower of the log has not handled. */
export async function readConsumerLag(
  { store, progress, basePorts }: LagContext,
  follower: string,
  categories: readonly string[],
): Promise<ConsumerLag> {
  const { position } = await progress.load(follower)
  const page = await store.readAll(position, MAX_COUNTED, categories)
  const last = page.at(-1)
  // Replicas that share the work record each handled fact after the position.
  const done = new Set(last ? await progress.listHandled(follower, position, last.position) : [])
  const waiting = page.filter((event) => !done.has(event.position))
  const [first] = waiting
  return { facts: waiting.length, seconds: first ? Math.max(0, basePorts.clock.now() - readMeta(first).at) / 1000 : 0 }
}
