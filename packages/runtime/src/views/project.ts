import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import type { Consumer } from '../consumers/consumer.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import type { OutcomeMessage } from '../commands/messages.ts'
import { describeConsumerSpan } from '../consumers/react.ts'
import type { Event, Projection } from '../service.ts'
import { withSpan, type Tracing } from '../observability/tracing.ts'

export type ProjectorContext = {
  readonly service: string
  readonly views: Views
  readonly progress: ConsumerProgress
  readonly tracing?: Tracing
}

type BatchEntry = {
  readonly apply: (trx: Transaction<object>) => Promise<Event | undefined>
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

const MAX_BATCH = 256

/** A projection's name with its version, because the old and the new version run in parallel until all traffic has moved. */
export const projectionName = (context: Pick<ProjectorContext, 'service'>, { name, version }: Projection): string =>
  `${context.service}.${name}.v${version}`

/**
 * Applies the facts of one owner to a projection. All waiting facts share a transaction with the progress, so that an event
 * counts once. If a batch fails, its facts are tried one by one, and only the faulty fact fails.
 */
export function createProjector(
  context: ProjectorContext,
  projection: Projection,
  owner: string,
  contracts: readonly Contract[],
): Consumer {
  const name = projectionName(context, projection)
  // This cache only finds gaps without a query; the transaction decides which facts were applied.
  const applied = new LRUCache<string, number>({ max: STREAM_CACHE_SIZE })
  const batch = createBatcher(context.views, (events) => {
    for (const event of events) applied.set(streamOf(event), event.revision)
    hitCrashPoint(`${context.service}.after-projection`)
    projection.onCommitted?.(events)
  })
  return {
    name,
    owner,
    contracts,
    lastRevision: async (stream) => applied.get(stream) ?? (await context.progress.revision(name, stream)) ?? -1,
    apply: (event) =>
      withSpan(
        context.tracing,
        () => describeConsumerSpan(`project ${projection.name}`, context.service, event),
        () =>
          batch(async (trx) => {
            const { revision, position } = event
            if (!(await context.progress.advance(name, { stream: streamOf(event), revision, position }, trx))) return undefined
            await projection.apply(trx, event)
            return event
          }),
      ),
    ...(projection.outcome && {
      outcome: async (outcome: OutcomeMessage) => {
        await batch(async (trx) => {
          await projection.outcome?.(trx, outcome)
          return undefined
        })
        projection.onOutcomeCommitted?.(outcome)
      },
    }),
  }
}

const streamOf = ({ category, aggregateId }: Event): string => `${category}-${aggregateId}`

function createBatcher(
  views: Views,
  committed: (events: readonly Event[]) => void,
): (apply: BatchEntry['apply']) => Promise<void> {
  const waiting: BatchEntry[] = []
  let busy = false

  const commit = async (entries: readonly BatchEntry[]): Promise<void> => {
    const events = await views.db.transaction().execute(async (trx) => {
      const applied: Event[] = []
      for (const entry of entries) {
        const event = await entry.apply(trx)
        if (event) applied.push(event)
      }
      return applied
    })
    if (events.length > 0) committed(events)
    for (const entry of entries) entry.done()
  }

  /** After a Fault all further entries fail immediately, because each would wait in turn for a database that does not answer. */
  const commitOneByOne = async (entries: readonly BatchEntry[]): Promise<void> => {
    let fault: Fault | undefined
    for (const entry of entries) {
      if (fault) entry.failed(fault)
      else
        await commit([entry]).catch((error: unknown) => {
          entry.failed(error)
          if (error instanceof Fault) fault = error
        })
    }
  }

  const drain = async (): Promise<void> => {
    busy = true
    while (waiting.length > 0) {
      // Waits for callbacks of settled promises, so that all messages of one commit share the transaction.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      const entries = waiting.splice(0, MAX_BATCH)
      try {
        await commit(entries)
      } catch (error) {
        if (entries.length === 1) entries[0]!.failed(error)
        else await commitOneByOne(entries)
      }
    }
    busy = false
  }

  return (apply) =>
    new Promise<void>((done, failed) => {
      waiting.push({ apply, done, failed })
      if (!busy) void drain()
    })
}
