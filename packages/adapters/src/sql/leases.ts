import type { Leases } from '@penstock/ports/leases.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type RawBuilder, sql } from 'kysely'

type LeaseTable = { leases: { name: string; owner: string; expires_at: number } }

/**
 * Stores leases in a table of the views' database.
 * @param now milliseconds since 1970, or a SQL expression of the server's clock if the clocks of replicas differ
 */
export async function sqlLeases(views: Views, now: () => number | RawBuilder<number>): Promise<Leases> {
  await views.migrate('leases', [createTable])
  const db = views.db.$extendTables<LeaseTable>()
  return {
    async acquire(name, owner, ttlMs) {
      const instant = sql<number>`${now()}`
      const expires = sql<number>`${instant} + ${sql.lit(ttlMs)}`
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('leases')
        .values({ name, owner, expires_at: expires })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet({ owner, expires_at: expires })
            .where((or) => or.or([or('leases.owner', '=', owner), or('leases.expires_at', '<=', instant)])),
        )
        .executeTakeFirstOrThrow()
      return numInsertedOrUpdatedRows === 1n
    },
    async release(name, owner) {
      await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute()
    },
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
