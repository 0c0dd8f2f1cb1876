import type { ConsumerProgress, StreamProgress } from '@penstock/ports/progress.ts'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import { keepTexts } from './statement-texts.ts'

export type StreamProgressTable = {
  progress_streams: { consumer: string; stream: string; revision: number; position: number }
}

/** As many facts as a projection applies in one transaction. It bounds the number of cached statements. */
const MAX_ROWS = 256

/** @param db compiles the statements, which run in the transactions of the callers */
export function createAdvance(db: Kysely<object>): ConsumerProgress['advance'] {
  const upsert = createUpsert(db.$extendTables<StreamProgressTable>())
  return async (consumer, reached, trx) => {
    const ascending = dropRepeats(reached)
    const streams = [...Map.groupBy(ascending, ({ stream }) => stream).values()]
    // A stream whose first event advances it has not reached its other events. If it does not advance, its row is locked anyway.
    const advanced = await upsert(
      consumer,
      streams.flatMap((events) => events.slice(0, 1)),
      trx,
    )
    const longStreams = streams.filter((events) => events.length > 1)
    const begunStreams = longStreams.flatMap(([event]) => (event && !advanced.has(event.stream) ? event.stream : []))
    const revisions = await readRevisions(consumer, begunStreams, trx)
    const isLater = ({ stream, revision }: StreamProgress): boolean =>
      advanced.has(stream) || revision > (revisions.get(stream) ?? Number.POSITIVE_INFINITY)
    await upsert(
      consumer,
      longStreams.flatMap((events) => events.slice(1).findLast(isLater) ?? []),
      trx,
    )
    return ascending.filter(isLater)
  }
}

function dropRepeats<T extends StreamProgress>(reached: readonly T[]): readonly T[] {
  const revisions = new Map<string, number>()
  return reached.filter(({ stream, revision }) => {
    if (revision <= (revisions.get(stream) ?? -1)) return false
    revisions.set(stream, revision)
    return true
  })
}

/** Creates an upsert of at most one event of each stream. It returns the streams that it has advanced. */
function createUpsert(tables: Kysely<StreamProgressTable>) {
  const textOf = keepTexts(
    (rowCount) =>
      tables
        .insertInto('progress_streams')
        .values(Array.from({ length: rowCount }, () => ({ consumer: '', stream: '', revision: 0, position: 0 })))
        .onConflict((conflict) =>
          conflict
            .columns(['consumer', 'stream'])
            .doUpdateSet((row) => ({ revision: row.ref('excluded.revision'), position: row.ref('excluded.position') }))
            .whereRef('progress_streams.revision', '<', 'excluded.revision'),
        )
        .returning('stream')
        .compile().sql,
  )

  return async (consumer: string, events: readonly StreamProgress[], trx: Transaction<object>): Promise<ReadonlySet<string>> => {
    // All transactions lock the streams in the same order, so that two replicas cannot wait for each other.
    const sorted = events.toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
    const advanced = new Set<string>()
    for (let from = 0; from < sorted.length; from += MAX_ROWS) {
      const rows = sorted.slice(from, from + MAX_ROWS)
      const parameters = rows.flatMap(({ stream, revision, position }) => [consumer, stream, revision, Number(position)])
      const result = await trx.executeQuery<{ stream: string }>(CompiledQuery.raw(textOf(rows.length), parameters))
      for (const { stream } of result.rows) advanced.add(stream)
    }
    return advanced
  }
}

async function readRevisions(
  consumer: string,
  streams: readonly string[],
  trx: Transaction<object>,
): Promise<ReadonlyMap<string, number>> {
  if (streams.length === 0) return new Map()
  const rows = await trx
    .$extendTables<StreamProgressTable>()
    .selectFrom('progress_streams')
    .select(['stream', 'revision'])
    .where('consumer', '=', consumer)
    .where('stream', 'in', streams)
    .execute()
  return new Map(rows.map(({ stream, revision }) => [stream, revision]))
}
