import type { Records, StoredRecord } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import { createBatchQueue } from '../shared/batch-queue.ts'

type RecordTable = { records: { id: string; kind: string; json: string; at: number } }

/** The new content of a record; undefined if it is deleted. */
type Change = {
  readonly id: string
  readonly record: StoredRecord | undefined
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Maximum number of changes in a commit, because each of them waits for the whole commit. */
const MAX_CHANGES = 256
/** Maximum number of ids in a query, because databases limit the parameters of a statement. */
const MAX_IDS = 1000

/**
 * Stores records in a table. Unlike read models they cannot be rebuilt from the facts, so their database must flush every commit
 * and must never be deleted. Changes of concurrent callers share a commit, and are made in the order of their calls.
 * @param gather waits for changes that share the first commit after a pause. A database that blocks the event loop needs it
 */
export async function sqlRecords(views: Views, gather: () => Promise<unknown> = () => Promise.resolve()): Promise<Records> {
  await views.migrate('records', [createTable])
  const db = views.db.$extendTables<RecordTable>()
  const queue = createBatchQueue<Change>({
    gather,
    select: (waiting) => ({ batch: waiting.slice(0, MAX_CHANGES), rest: waiting.slice(MAX_CHANGES) }),
    run: (batch) => commitChanges(db, batch),
  })
  const change = (id: string, record: StoredRecord | undefined): Promise<void> =>
    new Promise((resolve, reject) => queue.add({ id, record, resolve, reject }))
  return {
    put: (id, kind, json, now) => change(id, { id, kind, json, at: now }),
    get: (id) => db.selectFrom('records').selectAll().where('id', '=', id).executeTakeFirst(),
    async getMany(ids) {
      const found: StoredRecord[] = []
      for (let from = 0; from < ids.length; from += MAX_IDS)
        found.push(
          ...(await db
            .selectFrom('records')
            .selectAll()
            .where('id', 'in', ids.slice(from, from + MAX_IDS))
            .execute()),
        )
      return new Map(found.map((record) => [record.id, record]))
    },
    delete: async (...ids) => {
      await Promise.all(ids.map((id) => change(id, undefined)))
    },
  }
}

async function commitChanges(db: Kysely<RecordTable>, changes: readonly Change[]): Promise<void> {
  try {
    // A statement must not insert a row twice. The last change of an id decides.
    await applyChanges(db, new Map(changes.map(({ id, record }) => [id, record])))
    for (const { resolve } of changes) resolve()
  } catch (error) {
    for (const { reject } of changes) reject(error)
  }
}

async function applyChanges(db: Kysely<RecordTable>, changes: ReadonlyMap<string, StoredRecord | undefined>): Promise<void> {
  const stored = [...changes.values()].filter((record) => record !== undefined)
  const deleted = [...changes.keys()].filter((id) => changes.get(id) === undefined)
  if (deleted.length === 0) await storeRecords(db, stored)
  else if (stored.length === 0) await deleteRecords(db, deleted)
  else
    await db.transaction().execute(async (trx) => {
      await storeRecords(trx, stored)
      await deleteRecords(trx, deleted)
    })
}

const storeRecords = (db: Kysely<RecordTable>, records: readonly StoredRecord[]) =>
  db
    .insertInto('records')
    .values(records)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((row) => ({ kind: row.ref('excluded.kind'), json: row.ref('excluded.json'), at: row.ref('excluded.at') })),
    )
    .execute()

const deleteRecords = (db: Kysely<RecordTable>, ids: readonly string[]) =>
  db.deleteFrom('records').where('id', 'in', ids).execute()

async function createTable(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('records')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
}
