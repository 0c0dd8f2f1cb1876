import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { persist } from './backoff.ts'
import { crashPoint } from './crash-points.ts'
import { eventTopic, factToBus } from './messages.ts'
import type { Unfinished } from './unfinished.ts'

export type RelayContext = {
  readonly service: string
  readonly categories: readonly string[]
  readonly store: EventStore
  readonly bus: Bus
  readonly views: Views
  readonly progress: Progress
  readonly unfinished: Unfinished
  readonly clock: Clock
}

const PAGE = 1000

/**
 * Publishes a service's own facts: the store is the outbox, so nothing is ever written twice by a service. A batch is
 * published, then the position moves; a crash in between publishes the batch again, and consumers drop what they know.
 */
export async function relay(context: RelayContext, signal: AbortSignal): Promise<void> {
  const { service, store, bus, progress, clock } = context
  const consumer = `relay.${service}`
  const { position: after } = await progress.load(consumer)
  for await (const batch of store.follow({ categories: context.categories, after, signal })) {
    await persist(
      clock,
      signal,
      () => bus.publish(eventTopic(service), batch.map(factToBus)),
      (error) => error instanceof Fault,
    )
    crashPoint(`${service}.after-publish`)
    await context.views.db.transaction().execute(async (trx) => {
      await context.unfinished.touch(trx, newestRevisions(batch), clock.now())
      await progress.settle(consumer, batch.at(-1)!.position, trx) // a batch is never empty
    })
    crashPoint(`${service}.after-relay-progress`)
  }
}

/**
 * At start: what was appended and never relayed is unfinished too. Recovery must not wait for the bus, least of all the
 * guard of holds.
 */
export async function noteUnrelayed(context: Omit<RelayContext, 'bus'>): Promise<void> {
  const { service, store, views, progress, unfinished, clock } = context
  let { position: after } = await progress.load(`relay.${service}`)
  for (;;) {
    const page = await store.readAll(after, PAGE, context.categories)
    const last = page.at(-1)
    if (!last) return
    await views.db.transaction().execute((trx) => unfinished.touch(trx, newestRevisions(page), clock.now()))
    after = last.position
  }
}

function newestRevisions(batch: readonly StoredEvent[]): ReadonlyMap<string, number> {
  return new Map(batch.map(({ stream, revision }) => [stream, revision]))
}
