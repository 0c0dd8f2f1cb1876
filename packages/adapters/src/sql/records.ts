import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'

type RecordTable = { records: { id: string; kind: string; json: string; at: number } }

/**
 * Stores records in a table. Unlike read models they cannot be rebuilt from the facts, so their database must flush every commit
 * and must never be deleted.
 */
export async function sqlRecords(views: Views): Promise<Records> {
  await views.migrate('records', [createTable])
  const db = views.db.$extendTables<RecordTable>()
  return {
    async put(id, kind, json, now) {
      await db
        .insertInto('records')
        .values({ id, kind, json, at: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ kind, json, at: now }))
        .execute()
    },
    get: (id) => db.selectFrom('records').selectAll().where('id', '=', id).executeTakeFirst(),
    async delete(...ids) {
      if (ids.length > 0) await db.deleteFrom('records').where('id', 'in', ids).execute()
    },
  }
}

async function createTable(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('records')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
}
