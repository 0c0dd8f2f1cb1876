import { Bug } from '@penstock/kernel/result.ts'
import type { Migration } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'

type MigrationTable = { schema_migrations: { name: string; steps: number } }

/**
 * Runs the steps that have not run yet, each in one transaction with the new step count. Steps cannot be undone.
 * @throws Bug if the tables are newer than the code
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
    const isFinished = await db.transaction().execute(async (trx) => {
      const rows = trx.$extendTables<MigrationTable>()
      // The update comes before the read, so that processes that start together run one after the other.
      await rows
        .updateTable('schema_migrations')
        .set((set) => ({ steps: set.ref('steps') }))
        .where('name', '=', name)
        .execute()
      const { steps: completedSteps } = await rows
        .selectFrom('schema_migrations')
        .select('steps')
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
      if (completedSteps > steps.length)
        throw new Bug(`the tables of ${name} are at step ${completedSteps}, this program knows ${steps.length}: update it`)
      const step = steps[completedSteps]
      if (!step) return true
      await step(trx)
      await rows
        .updateTable('schema_migrations')
        .set({ steps: completedSteps + 1 })
        .where('name', '=', name)
        .execute()
      return false
    })
    if (isFinished) return
  }
}

/**
 * Checks that the tables are migrated, for programs whose tables a separate job migrates. Newer tables are accepted, because
 * steps only add to them: during a rollout or a rollback the previous release must start with the newer tables.
 * @throws Error if the tables are older than the code
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
  const completedSteps = row?.steps ?? 0
  if (completedSteps < steps.length)
    throw new Error(
      `The tables of ${name} are at step ${completedSteps}, this program needs ${steps.length}: run its migrations first.`,
    )
}
