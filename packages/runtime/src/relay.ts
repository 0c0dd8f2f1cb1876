import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { aggregateIdOf, categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { persist } from './backoff.ts'
import { crashPoint } from './crash-points.ts'
import { metaOf } from './event-codec.ts'
import type { Log } from './log.ts'
import { factsRelayed } from './metrics.ts'
import { eventTopic, factToBus } from './messages.ts'
import { spanOfAppend, spanOfMessage } from './trace.ts'
import { streamAttributes, type Tracing } from './tracing.ts'
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
  readonly log: Log
  readonly tracing?: Tracing
}

const PAGE = 1000
const SAVE_EVERY_MS = 100

/**
 * Publishes a service's own facts: the store is the outbox, so nothing is ever written twice by a service. A batch is
 * published, then the position moves; a crash in between publishes it again, and consumers drop what they know.
 */
export async function relay(context: RelayContext, signal: AbortSignal): Promise<void> {
  const { service, store, bus, clock } = context
  const { position: after } = await context.progress.load(consumerOf(service))
  const published = unsaved(context)
  const over = new AbortController()
  const saving = saveLoop(context, () => published.save(), over.signal)
  try {
    for await (const batch of store.follow({ categories: context.categories, after, signal })) {
      const since = clock.now()
      await persist(
        clock,
        signal,
        () => bus.publish(eventTopic(service), batch.map(factToBus)),
        (error) => error instanceof Fault,
      )
      crashPoint(`${service}.after-publish`)
      factsRelayed.inc({ component: service }, batch.length)
      if (context.tracing) tellTraces(service, context.tracing, batch, since)
      published.note(batch)
    }
  } finally {
    over.abort()
    await saving
  }
}

export const consumerOf = (service: string): string => `relay.${service}`

/** The way of each fact from its append to its consumers, both of which find this span by the fact alone. */
function tellTraces(service: string, tracing: Tracing, batch: readonly StoredEvent[], since: number): void {
  for (const event of batch) {
    const { command, trace, correlation } = metaOf(event)
    const attributes = {
      ...streamAttributes(service, categoryOf(event.stream), aggregateIdOf(event.stream), correlation),
      'penstock.fact': event.type,
      'penstock.revision': event.revision,
    }
    const [id, parent] = [spanOfMessage(event.id), spanOfAppend(command)]
    tracing.past({ name: `relay ${event.type}`, trace, kind: 'producer', id, parent, attributes }, since)
  }
}

/** What was published and is not yet written down: many batches share one transaction. */
function unsaved({ service, views, unfinished, progress, clock }: RelayContext) {
  let streams = new Map<string, number>()
  let position: bigint | undefined
  return {
    note(batch: readonly StoredEvent[]): void {
      for (const [stream, revision] of newestRevisions(batch)) streams.set(stream, revision)
      position = batch.at(-1)?.position ?? position
    },
    async save(): Promise<void> {
      if (position === undefined) return
      const [touched, reached] = [streams, position]
      streams = new Map()
      position = undefined
      try {
        await views.db.transaction().execute(async (trx) => {
          await unfinished.touch(trx, touched, clock.now())
          await progress.settle(consumerOf(service), reached, trx)
        })
      } catch (error) {
        streams = new Map([...touched, ...streams])
        position ??= reached
        throw error
      }
      crashPoint(`${service}.after-relay-progress`)
    },
  }
}

async function saveLoop({ service, clock, log }: RelayContext, save: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let stopping = false; !stopping;) {
    await clock.sleep(SAVE_EVERY_MS, signal)
    stopping = signal.aborted
    try {
      await save()
    } catch (error) {
      log.warn({ service, reason: String(error) }, "the relay's position was not saved; a restart publishes a little more again")
    }
  }
}

/**
 * At start: what was appended and never relayed is unfinished too. Recovery must not wait for the bus, least of all the
 * guard of holds.
 */
export async function noteUnrelayed(context: Omit<RelayContext, 'bus' | 'log'>): Promise<void> {
  const { service, store, views, progress, unfinished, clock } = context
  let { position: after } = await progress.load(consumerOf(service))
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
