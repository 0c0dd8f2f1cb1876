import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import { createAdvance, type StreamProgressTable } from './advance-progress.ts'

type ProgressTables = StreamProgressTable & {
  progress: { consumer: string; position: number }
  progress_notes: { consumer: string; position: number }
}

const NOTES_PER_INSERT = 1000

/**
 * Stores the progress of consumers in the views' database. Positions are numbers here, because a log has fewer than 2^53 events.
 */
export async function sqlProgress(views: Views): Promise<ConsumerProgress> {
  await views.migrate('progress', [createTables, addNotes, dropPositionIndex])
  const tables = (db: Kysely<object> = views.db): Kysely<ProgressTables> => db.$extendTables<ProgressTables>()

  return {
    async load(consumer) {
      const row = await tables().selectFrom('progress').select('position').where('consumer', '=', consumer).executeTakeFirst()
      return { position: row ? BigInt(row.position) : 'start' }
    },
    async revision(consumer, stream, db) {
      const rows = tables(db).selectFrom('progress_streams').select('revision')
      const row = await rows.where('consumer', '=', consumer).where('stream', '=', stream).executeTakeFirst()
      return row?.revision
    },
    advance: createAdvance(views.db),
    async saveCheckpoint(consumer, position, db) {
      const reached = Number(position)
      await tables(db)
        .insertInto('progress')
        .values({ consumer, position: reached })
        .onConflict((conflict) =>
          conflict.column('consumer').doUpdateSet({ position: reached }).where('progress.position', '<', reached),
        )
        .execute()
    },
    ...createNotes(tables),
    async reset(consumer, db) {
      await tables(db).deleteFrom('progress_streams').where('consumer', '=', consumer).execute()
      await tables(db).deleteFrom('progress').where('consumer', '=', consumer).execute()
      await tables(db).deleteFrom('progress_notes').where('consumer', '=', consumer).execute()
    },
  }
}

type Notes = Pick<ConsumerProgress, 'markHandled' | 'listHandled' | 'deleteHandled'>

const createNotes = (tables: (db?: Kysely<object>) => Kysely<ProgressTables>): Notes => ({
  async markHandled(consumer, positions) {
    for (let from = 0; from < positions.length; from += NOTES_PER_INSERT) {
      const rows = positions.slice(from, from + NOTES_PER_INSERT).map((position) => ({ consumer, position: Number(position) }))
      await tables()
        .insertInto('progress_notes')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  },
  async listHandled(consumer, after, until) {
    const notes = tables().selectFrom('progress_notes').select('position').where('consumer', '=', consumer)
    const beyond = notes.where('position', '>', after === 'start' ? -1 : Number(after))
    const rows = await beyond.where('position', '<=', Number(until)).execute()
    return rows.map(({ position }) => BigInt(position))
  },
  async deleteHandled(consumer, until) {
    const notes = tables().deleteFrom('progress_notes').where('consumer', '=', consumer)
    await notes.where('position', '<=', Number(until)).execute()
  },
})

async function createTables(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('progress')
    .addColumn('consumer', 'text', (column) => column.primaryKey())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('progress_streams')
    .addColumn('consumer', 'text', (column) => column.notNull())
    .addColumn('stream', 'text', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('progress_streams_key', ['consumer', 'stream'])
    .execute()
  await db.schema.createIndex('progress_streams_by_position').on('progress_streams').columns(['consumer', 'position']).execute()
}

const addNotes = (db: Views['db']): Promise<void> =>
  db.schema
    .createTable('progress_notes')
    .addColumn('consumer', 'text', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('progress_notes_key', ['consumer', 'position'])
    .execute()

/** No query reads it, and each handled event changed it. */
const dropPositionIndex = (db: Views['db']): Promise<void> =>
  db.schema.dropIndex('progress_streams_by_position').ifExists().execute()
