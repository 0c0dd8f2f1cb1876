import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import type { Consumer } from './consumer.ts'
import { crashPoint } from './crash-points.ts'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'
import type { OutcomeMessage } from './messages.ts'
import { consuming } from './react.ts'
import type { Event, Projection } from './service.ts'
import { traced, type Tracing } from './tracing.ts'

export type ProjectContext = {
  readonly service: string
  readonly views: Views
  readonly progress: Progress
  readonly tracing?: Tracing
}

type Piece = {
  readonly apply: (trx: Transaction<object>) => Promise<Event | undefined>
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

const BATCH = 256

/** A projection's name with its version: the old one goes on beside the new one until traffic has moved. */
export const projectionName = (context: Pick<ProjectContext, 'service'>, { name, version }: Projection): string =>
  `${context.service}.${name}.v${version}`

/**
 * Applies the facts of one owner to a projection. Everything that waits goes into one transaction together with the
 * progress, so that an event counts once; where a batch fails, its pieces are tried one by one and only the faulty one fails.
 */
export function projector(
  context: ProjectContext,
  projection: Projection,
  owner: string,
  contracts: readonly Contract[],
): Consumer {
  const name = projectionName(context, projection)
  // Only to tell gaps without asking; what was applied is decided inside the transaction.
  const applied = lru<string, number>(STREAMS_UNDER_WAY)
  const batch = batcher(context.views, (events) => {
    for (const event of events) applied.set(streamOf(event), event.revision)
    crashPoint(`${context.service}.after-projection`)
    projection.committed?.(events)
  })
  return {
    name,
    owner,
    contracts,
    seen: async (stream) => applied.get(stream) ?? (await context.progress.revision(name, stream)) ?? -1,
    apply: (event) =>
      traced(
        context.tracing,
        () => consuming(`project ${projection.name}`, context.service, event),
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
        projection.outcomeCommitted?.(outcome)
      },
    }),
  }
}

const streamOf = ({ category, aggregateId }: Event): string => `${category}-${aggregateId}`

function batcher(views: Views, committed: (events: readonly Event[]) => void): (apply: Piece['apply']) => Promise<void> {
  const waiting: Piece[] = []
  let busy = false

  const commit = async (pieces: readonly Piece[]): Promise<void> => {
    const events = await views.db.transaction().execute(async (trx) => {
      const applied: Event[] = []
      for (const piece of pieces) {
        const event = await piece.apply(trx)
        if (event) applied.push(event)
      }
      return applied
    })
    if (events.length > 0) committed(events)
    for (const piece of pieces) piece.done()
  }

  /** Where the database itself does not answer, the rest would only wait for it in turn. */
  const oneByOne = async (pieces: readonly Piece[]): Promise<void> => {
    let silent: Fault | undefined
    for (const piece of pieces) {
      if (silent) piece.failed(silent)
      else
        await commit([piece]).catch((error: unknown) => {
          piece.failed(error)
          if (error instanceof Fault) silent = error
        })
    }
  }

  const drain = async (): Promise<void> => {
    busy = true
    while (waiting.length > 0) {
      // After the promises that are settled by now: all messages of one commit share the transaction.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      const pieces = waiting.splice(0, BATCH)
      try {
        await commit(pieces)
      } catch (error) {
        if (pieces.length === 1) pieces[0]!.failed(error)
        else await oneByOne(pieces)
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
