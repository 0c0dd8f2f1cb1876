import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import type { Views } from '@penstock/ports/views.ts'
import { createProjector } from '@penstock/runtime/views/project.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'
import { compareToReference, measureRate, type BenchmarkRow, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { createTempFolder } from '../sample-stores.ts'

const ROUNDS = 9
const FACTS = 12_800
/** Concurrent streams, as many as the bus delivers at once. At most this number of facts shares a transaction. */
const CONCURRENCY = 64
const FACTS_PER_STREAM = 20

type Tables = { bench_rows: { id: string; revision: number; view: string } }
const VIEW = JSON.stringify({ text: 'v'.repeat(1500) })

const projection: Projection = {
  name: 'bench',
  version: 1,
  from: [orderContract],
  migrate: (views) =>
    views.migrate('bench', [
      async (db) => {
        await db.schema
          .createTable('bench_rows')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('revision', 'integer', (column) => column.notNull())
          .addColumn('view', 'text', (column) => column.notNull())
          .execute()
      },
    ]),
  apply: async (trx, events) => {
    for (const { aggregateId, revision } of events) await upsert(trx, aggregateId, revision)
  },
}

async function upsert(db: Pick<Views['db'], '$extendTables'>, id: string, revision: number): Promise<void> {
  await db
    .$extendTables<Tables>()
    .insertInto('bench_rows')
    .values({ id, revision, view: VIEW })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ revision, view: VIEW }))
    .execute()
}

/** Compares a projection with its upserts alone. The projection upserts one row per fact and saves its checkpoint with it. */
export const projectionBenchmark: Benchmark = {
  name: 'projection',
  async run({ isQuick }: BenchmarkSize) {
    const facts = isQuick ? 2 * CONCURRENCY * FACTS_PER_STREAM : FACTS
    const views = openViews(join(createTempFolder('views'), 'views.db'))
    const bare = openBareSql(join(createTempFolder('bare'), 'views.db'))
    await projection.migrate(views)
    const consumer = createProjector({ service: 'bench', views, progress: await sqlProgress(views) }, projection, 'order', [
      orderContract,
    ])
    const rate = (run: () => Promise<void> | void) => async () => [await measureRate(facts, run)]
    const projectAll = rate(() => applyConcurrently(facts, (event) => consumer.apply(event)))
    const rounds = isQuick ? 1 : ROUNDS
    const rows: BenchmarkRow[] = []
    try {
      const references = [
        {
          name: 'the same upserts by the query builder, in transactions of as many',
          measure: rate(() => upsertByBuilder(views, facts)),
        },
        // Prepared statements are the stricter reference, because they use SQLite without a query builder.
        { name: 'the same upserts as prepared statements', measure: rate(() => bare.write(facts)), target: 0.7 },
      ]
      await projectAll()
      for (const { target, ...reference } of references) {
        await reference.measure()
        const what = { description: 'projection with its progress', unit: 'facts/s', ...(target !== undefined && { target }) }
        rows.push(...(await compareToReference({ rows: [what], measure: projectAll, reference, rounds })))
      }
    } finally {
      await views.close()
      bare.close()
    }
    return rows
  },
}

let streams = 0
/** Applies facts of concurrent streams. Within a stream, each fact waits until the previous one is applied. */
async function applyConcurrently(facts: number, apply: (event: Event) => Promise<void>): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let n = 0; n < facts / CONCURRENCY; n += FACTS_PER_STREAM) {
      const aggregateId = createId(++streams)
      for (let revision = 0; revision < FACTS_PER_STREAM; revision++) await apply(createEvent(aggregateId, revision))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

const createId = (stream: number): string => `00000000-0000-4000-8000-${String(stream).padStart(12, '0')}`

const createEvent = (aggregateId: string, revision: number): Event => ({
  id: aggregateId,
  category: orderContract.category,
  aggregateId,
  revision,
  position: BigInt(streams * FACTS_PER_STREAM + revision),
  at: 0,
  commandId: aggregateId,
  correlation: aggregateId,
  fact: { type: 'HoldIssuedRecorded', v: 1, data: {} },
})

/** Generates the rows of new streams. Each yielded group is one transaction: one row of each concurrent stream. */
function* generateRows(facts: number): Generator<readonly (readonly [string, number])[]> {
  for (let group = 0; group < facts; group += CONCURRENCY * FACTS_PER_STREAM) {
    const ids = Array.from({ length: CONCURRENCY }, () => createId(++streams))
    for (let revision = 0; revision < FACTS_PER_STREAM; revision++) yield ids.map((id) => [id, revision] as const)
  }
}

async function upsertByBuilder(views: Views, facts: number): Promise<void> {
  for (const rows of generateRows(facts))
    await views.db.transaction().execute(async (trx) => {
      for (const [id, revision] of rows) await upsert(trx, id, revision)
    })
}

function openBareSql(path: string): { write(facts: number): void; close(): void } {
  const db = new DatabaseSync(path)
  db.exec(`pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32768;
    create table bench_rows (id text primary key, revision integer not null, view text not null)`)
  const upsertOne = db.prepare(`insert into bench_rows values (?, ?, ?)
    on conflict (id) do update set revision = excluded.revision, view = excluded.view`)
  return {
    write(facts) {
      for (const rows of generateRows(facts)) {
        db.exec('begin')
        for (const [id, revision] of rows) upsertOne.run(id, revision, VIEW)
        db.exec('commit')
      }
    },
    close: () => db.close(),
  }
}
