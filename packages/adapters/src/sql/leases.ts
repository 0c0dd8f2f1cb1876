import type { Leases } from '@penstock/ports/leases.ts'
import type { Views } from '@penstock/ports/views.ts'
import { CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely'
import { keepTexts } from './statement-texts.ts'

type LeaseTable = { leases: { name: string; owner: string; expires_at: number } }

type Acquisition = { readonly name: string; readonly owner: string; readonly ttlMs: number }
type WaitingAcquisition = Acquisition & {
  readonly resolve: (isAcquired: boolean) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Stores leases in a table of the views' database. Concurrent acquisitions share a statement.
 * @param now milliseconds since 1970, or a SQL expression of the server's clock if the clocks of replicas differ
 */
export async function sqlLeases(views: Views, now: () => number | RawBuilder<number>): Promise<Leases> {
  await views.migrate('leases', [createTable])
  const db = views.db.$extendTables<LeaseTable>()
  const acquireAll = createAcquirer(db, now)
  let waiting: WaitingAcquisition[] = []

  async function acquireWaiting(): Promise<void> {
    await Promise.resolve()
    const all = waiting
    waiting = []
    // A statement may update each row only once.
    for (const ofOwner of Map.groupBy(all, ({ owner }) => owner).values()) void acquireTogether(ofOwner)
  }
  async function acquireTogether(acquisitions: readonly WaitingAcquisition[]): Promise<void> {
    try {
      const acquired = await acquireAll([...new Map(acquisitions.map((one) => [one.name, one])).values()])
      for (const { name, resolve } of acquisitions) resolve(acquired.has(name))
    } catch (error) {
      for (const { reject } of acquisitions) reject(error)
    }
  }
  return {
    acquire: (name, owner, ttlMs) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ name, owner, ttlMs, resolve, reject }) === 1) void acquireWaiting()
      }),
    async release(name, owner) {
      await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute()
    },
  }
}

/** @returns a function that returns the names of the acquired leases */
function createAcquirer(db: Kysely<LeaseTable>, now: () => number | RawBuilder<number>) {
  const textOf = keepTexts((rowCount) => {
    const instant = sql<number>`${now()}`
    return db
      .insertInto('leases')
      .values(
        Array.from({ length: rowCount }, () => ({
          name: '',
          owner: '',
          expires_at: sql<number>`${instant} + cast(${0} as bigint)`,
        })),
      )
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet((row) => ({ owner: row.ref('excluded.owner'), expires_at: row.ref('excluded.expires_at') }))
          .where((or) => or.or([or('leases.owner', '=', or.ref('excluded.owner')), or('leases.expires_at', '<=', instant)])),
      )
      .returning('name')
      .compile().sql
  })

  return async (acquisitions: readonly Acquisition[]): Promise<ReadonlySet<string>> => {
    // A number is a parameter, and an expression is a part of the text.
    const instant = now()
    const instants = typeof instant === 'number' ? [instant] : []
    // Every statement locks the rows in the same order, so that two statements never deadlock.
    const sorted = acquisitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const parameters = [...sorted.flatMap(({ name, owner, ttlMs }) => [name, owner, ...instants, ttlMs]), ...instants]
    const { rows } = await db.executeQuery<{ name: string }>(CompiledQuery.raw(textOf(sorted.length), parameters))
    return new Set(rows.map(({ name }) => name))
  }
}

async function createTable(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
}
