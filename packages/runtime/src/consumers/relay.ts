import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type RetryPorts, retryUntil } from '../retry.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { createSaver } from './save-after-changes.ts'
import { readMeta } from '../commands/event-codec.ts'
import type { Logger } from '../observability/log.ts'
import { factsRelayed } from '../observability/metrics.ts'
import { eventTopic, factToBus } from '../commands/messages.ts'
import { deriveAppendSpanId, deriveMessageSpanId } from '../observability/trace-ids.ts'
import { streamAttributes, type Tracing } from '../observability/tracing.ts'
import type { OpenStreams } from '../processes/open-streams.ts'

export type RelayContext = {
  readonly service: string
  readonly categories: readonly string[]
  /** Categories of this service that no service follows in memory. */
  readonly onlyRelayed: readonly string[]
  readonly store: EventStore
  readonly bus: Bus
  readonly views: Views
  readonly progress: ConsumerProgress
  readonly openStreams: OpenStreams
  readonly clock: Clock
  readonly ids: RetryPorts['ids']
  readonly log: Logger
  readonly tracing?: Tracing
}

const PAGE = 1000
const SAVE_EVERY_MS = 1000
const IDLE_MS = 60_000

/**
 * Publishes a service's own facts, with the event store as the outbox. The position moves after a batch is published; after a
 * crash in between, the batch is published again, and consumers drop repeated facts.
 */
export async function relayFacts(context: RelayContext, signal: AbortSignal): Promise<void> {
  const { service, store, bus, clock, log, categories, onlyRelayed: soleReaderOf } = context
  const { position: after } = await context.progress.load(relayConsumerName(service))
  const progressBuffer = createProgressBuffer(context)
  const ended = new AbortController()
  const saver = createSaver({
    clock,
    everyMs: SAVE_EVERY_MS,
    idleMs: IDLE_MS,
    isIdle: progressBuffer.isEmpty,
    save: () =>
      progressBuffer.save().catch((error: unknown) => {
        const text = "saving the relay's position failed; a restart publishes some facts again"
        log.warn({ service, reason: String(error) }, text)
      }),
  })
  const saving = saver.run(ended.signal)
  try {
    for await (const batch of store.follow({ categories, after, soleReaderOf, signal })) {
      const since = clock.now()
      await retryUntil(
        context,
        signal,
        () => bus.publish(eventTopic(service), batch.map(factToBus)),
        (error) => error instanceof Fault,
      )
      hitCrashPoint(`${service}.after-publish`)
      factsRelayed.inc({ component: service }, batch.length)
      if (context.tracing) traceRelayed(service, context.tracing, batch, since)
      progressBuffer.note(batch)
      saver.noteChange()
    }
  } finally {
    ended.abort()
    await saving
  }
}

export const relayConsumerName = (service: string): string => `relay.${service}`

/** Records a span for each fact, between its append and its consumers. Consumers derive the span's id from the fact. */
function traceRelayed(service: string, tracing: Tracing, batch: readonly StoredEvent[], since: number): void {
  for (const event of batch) {
    const { command, trace, correlation } = readMeta(event)
    const attributes = {
      ...streamAttributes(service, categoryOf(event.stream), aggregateIdOf(event.stream), correlation),
      'penstock.fact': event.type,
      'penstock.revision': event.revision,
    }
    const [id, parent] = [deriveMessageSpanId(event.id), deriveAppendSpanId(command)]
    tracing.recordSpan({ name: `relay ${event.type}`, trace, kind: 'producer', id, parent, attributes }, since)
  }
}

/** Buffers the progress of published batches, so that many batches share one transaction. */
function createProgressBuffer({ service, views, openStreams, progress, clock }: RelayContext) {
  let streams = new Map<string, number>()
  let position: bigint | undefined
  return {
    note(batch: readonly StoredEvent[]): void {
      for (const [stream, revision] of newestRevisions(batch)) streams.set(stream, revision)
      position = batch.at(-1)?.position ?? position
    },
    isEmpty: () => position === undefined,
    async save(): Promise<void> {
      if (position === undefined) return
      const [touched, reached] = [streams, position]
      streams = new Map()
      position = undefined
      try {
        const savedRuns = await views.db.transaction().execute(async (trx) => {
          const saved = await openStreams.touch(trx, touched, clock.now())
          await progress.saveCheckpoint(relayConsumerName(service), reached, trx)
          return saved
        })
        openStreams.confirmSaved(savedRuns)
      } catch (error) {
        streams = new Map([...touched, ...streams])
        position ??= reached
        throw error
      }
      hitCrashPoint(`${service}.after-relay-progress`)
    },
  }
}

/** Records streams with unrelayed facts as open at a start, so that recovery and the guard of holds do not wait for the bus. */
export async function recordUnrelayedStreams(context: Omit<RelayContext, 'onlyRelayed' | 'bus' | 'log'>): Promise<void> {
  const { service, store, views, progress, openStreams, clock } = context
  let { position: after } = await progress.load(relayConsumerName(service))
  for (;;) {
    const page = await store.readAll(after, PAGE, context.categories)
    const last = page.at(-1)
    if (!last) return
    await views.db.transaction().execute((trx) => openStreams.touch(trx, newestRevisions(page), clock.now()))
    after = last.position
  }
}

function newestRevisions(batch: readonly StoredEvent[]): ReadonlyMap<string, number> {
  return new Map(batch.map(({ stream, revision }) => [stream, revision]))
}
