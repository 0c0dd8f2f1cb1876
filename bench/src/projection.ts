import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { order } from '@penstock/contracts/order.ts'
import type { Views } from '@penstock/ports/views.ts'
import { projector } from '@penstock/runtime/project.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'
import { compare, perSecond, type Row, type Size, type Subject } from './harness.ts'
import { scratch } from './stores.ts'

const ROUNDS = 9
const FACTS = 12_800
/** As many keys side by side as the bus gives out; so many share a transaction at the most. */
const SIDE_BY_SIDE = 64
const FACTS_OF_A_STREAM = 20

type Tables = { bench_rows: { id: string; revision: number; view: string } }
const VIEW = JSON.stringify({ text: 'v'.repeat(1500) })

const projection: Projection = {
  name: 'bench',
  version: 1,
  from: [order],
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
  apply: (trx, { aggregateId, revision }) => upsert(trx, aggregateId, revision),
}

async function upsert(db: Pick<Views['db'], '$extendTables'>, id: string, revision: number): Promise<void> {
  await db
    .$extendTables<Tables>()
    .insertInto('bench_rows')
    .values({ id, revision, view: VIEW })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ revision, view: VIEW }))
    .execute()
}

/** A projection of one row a fact, with its progress in the same transactions, beside the same upserts alone. */
export const projecting: Subject = {
  name: 'projection',
  async run({ isQuick }: Size) {
    const facts = isQuick ? 2 * SIDE_BY_SIDE * FACTS_OF_A_STREAM : FACTS
    const views = openViews(join(scratch('views'), 'views.db'))
    const bare = bareSql(join(scratch('bare'), 'views.db'))
    await projection.migrate(views)
    const consumer = projector({ service: 'bench', views, progress: await sqlProgress(views) }, projection, 'order', [order])
    const rate = (work: () => Promise<void> | void) => async () => [await perSecond(facts, work)]
    const whole = rate(() => bySides(facts, (event) => consumer.apply(event)))
    const rounds = isQuick ? 1 : ROUNDS
    const rows: Row[] = []
    try {
      const references = [
        {
          name: 'the same upserts by the query builder, in transactions of as many',
          measure: rate(() => bySql(views, facts)),
        },
        // The stricter of the two: bare is what SQLite does with no library in between.
        { name: 'the same upserts as prepared statements', measure: rate(() => bare.write(facts)), target: 0.7 },
      ]
      await whole()
      for (const { target, ...reference } of references) {
        await reference.measure()
        const what = { what: 'projection with its progress', unit: 'facts/s', ...(target !== undefined && { target }) }
        rows.push(...(await compare({ rows: [what], measure: whole, reference, rounds })))
      }
    } finally {
      await views.close()
      bare.close()
    }
    return rows
  },
}

let streams = 0
/** Facts of as many streams as the bus hands over at once; each stream's next comes when its last was applied. */
async function bySides(facts: number, apply: (event: Event) => Promise<void>): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let n = 0; n < facts / SIDE_BY_SIDE; n += FACTS_OF_A_STREAM) {
      const aggregateId = idOf(++streams)
      for (let revision = 0; revision < FACTS_OF_A_STREAM; revision++) await apply(eventOf(aggregateId, revision))
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
}

const idOf = (stream: number): string => `00000000-0000-4000-8000-${String(stream).padStart(12, '0')}`

const eventOf = (aggregateId: string, revision: number): Event => ({
  id: aggregateId,
  category: order.category,
  aggregateId,
  revision,
  position: BigInt(streams * FACTS_OF_A_STREAM + revision),
  at: 0,
  commandId: aggregateId,
  correlation: aggregateId,
  fact: { type: 'HoldIssued', v: 1, data: {} },
})

/** The rows of the same streams in the same order. */
function* rowsOf(facts: number): Generator<readonly (readonly [string, number])[]> {
  for (let group = 0; group < facts; group += SIDE_BY_SIDE * FACTS_OF_A_STREAM) {
    const ids = Array.from({ length: SIDE_BY_SIDE }, () => idOf(++streams))
    for (let revision = 0; revision < FACTS_OF_A_STREAM; revision++) yield ids.map((id) => [id, revision] as const)
  }
}

async function bySql(views: Views, facts: number): Promise<void> {
  for (const rows of rowsOf(facts))
    await views.db.transaction().execute(async (trx) => {
      for (const [id, revision] of rows) await upsert(trx, id, revision)
    })
}

function bareSql(path: string): { write(facts: number): void; close(): void } {
  const db = new DatabaseSync(path)
  db.exec(`pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32768;
    create table bench_rows (id text primary key, revision integer not null, view text not null)`)
  const one = db.prepare(`insert into bench_rows values (?, ?, ?)
    on conflict (id) do update set revision = excluded.revision, view = excluded.view`)
  return {
    write(facts) {
      for (const rows of rowsOf(facts)) {
        db.exec('begin')
        for (const [id, revision] of rows) one.run(id, revision, VIEW)
        db.exec('commit')
      }
    },
    close: () => db.close(),
  }
}
