import { Bug } from '@penstock/kernel/result.ts'
import type { Migration } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'

type MigrationTable = { schema_migrations: { name: string; steps: number } }

/**
 * Forward only: runs the steps that come after those that ran before, each in a transaction with its count.
 * @throws Bug where the tables are newer than the code
 */
export async function migrate(db: Kysely<object>, name: string, steps: readonly Migration[]): Promise<void> {
  const table = db.$extendTables<MigrationTable>()
  await table.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('steps', 'integer', (column) => column.notNull())
    .execute()
  await table
    .insertInto('schema_migrations')
    .values({ name, steps: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  for (;;) {
    const finished = await db.transaction().execute(async (trx) => {
      const rows = trx.$extendTables<MigrationTable>()
      // Written before it is read: two processes that start together take turns.
      await rows
        .updateTable('schema_migrations')
        .set((set) => ({ steps: set.ref('steps') }))
        .where('name', '=', name)
        .execute()
      const { steps: ran } = await rows
        .selectFrom('schema_migrations')
        .select('steps')
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
      if (ran > steps.length)
        throw new Bug(`the tables of ${name} are at step ${ran}, this program knows ${steps.length}: use a newer one`)
      const step = steps[ran]
      if (!step) return true
      await step(trx)
      await rows
        .updateTable('schema_migrations')
        .set({ steps: ran + 1 })
        .where('name', '=', name)
        .execute()
      return false
    })
    if (finished) return
  }
}

/**
 * Changes nothing: for programs whose tables are made by a job of their own. Newer tables are no hindrance: steps only add
 * to them, and while a release is rolled out, or taken back, the version before it has to start again beside it.
 * @throws Error where the tables are older than the code
 */
export async function checkMigrated(db: Kysely<object>, name: string, steps: readonly Migration[]): Promise<void> {
  const tables = await db.introspection.getTables()
  const row = tables.some((table) => table.name === 'schema_migrations')
    ? await db
        .$extendTables<MigrationTable>()
        .selectFrom('schema_migrations')
        .select('steps')
        .where('name', '=', name)
        .executeTakeFirst()
    : undefined
  const ran = row?.steps ?? 0
  if (ran < steps.length)
    throw new Error(`The tables of ${name} are at step ${ran}, this program needs ${steps.length}: run its migrations first.`)
}
