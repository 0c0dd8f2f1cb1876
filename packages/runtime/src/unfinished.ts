import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import { lru } from './lru.ts'

/**
 * Which streams still ask for something: what a restart has to look at. An index over the service's own streams, kept by
 * the relay together with its position, so that it can be thrown away and made again by reading the log.
 */
type UnfinishedTable = {
  unfinished_streams: { service: string; stream: string; revision: number; ran_revision: number; touched_at: number }
}

export type Ran = { readonly revision: number; readonly open: boolean }

export type Unfinished = {
  /** The relay saw these streams grow. In the transaction that moves its position. */
  touch(trx: Transaction<object>, streams: ReadonlyMap<string, number>, now: number): Promise<void>
  /** The process of a stream ran at this revision; `open`: it still asks for something. */
  ran(stream: string, ran: Ran): void
  /** Writes down what `ran` was told since the last time. */
  flush(now: number): Promise<void>
  /** Streams whose process is not known to have run at their newest revision, touched before `before`. */
  behind(before: number, max: number): Promise<readonly string[]>
  all(categories: readonly string[], now: number): Promise<readonly string[]>
}

const REMEMBERED = 20_000

export async function migrateUnfinished(views: Views): Promise<void> {
  await views.migrate('unfinished', [
    async (db) => {
      await db.schema
        .createTable('unfinished_streams')
        .addColumn('service', 'text', (column) => column.notNull())
        .addColumn('stream', 'text', (column) => column.notNull())
        .addColumn('revision', 'integer', (column) => column.notNull())
        .addColumn('ran_revision', 'integer', (column) => column.notNull())
        .addColumn('touched_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('unfinished_streams_pk', ['service', 'stream'])
        .execute()
    },
  ])
}

export function unfinished(views: Views, service: string): Unfinished {
  const db = views.db.$extendTables<UnfinishedTable>()
  const latest = lru<string, Ran>(REMEMBERED)
  let pending = new Map<string, Ran>()

  const write = async (trx: Transaction<object>, stream: string, revision: number, ran: Ran | undefined, now: number): Promise<void> => {
    const table = trx.$extendTables<UnfinishedTable>()
    const current = ran !== undefined && ran.revision >= revision
    if (current && !ran.open) {
      await table.deleteFrom('unfinished_streams').where('service', '=', service).where('stream', '=', stream).execute()
      return
    }
    const row = { service, stream, revision, ran_revision: current ? ran.revision : -1, touched_at: now }
    await table
      .insertInto('unfinished_streams')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['service', 'stream']).doUpdateSet({ revision, ran_revision: row.ran_revision, touched_at: now }),
      )
      .execute()
  }

  async function flush(now: number): Promise<void> {
    if (pending.size === 0) return
    const batch = pending
    pending = new Map()
    await db.transaction().execute(async (trx) => {
      for (const [stream, { revision, open }] of batch) {
        const rows = trx.$extendTables<UnfinishedTable>()
        if (open) {
          const row = { service, stream, revision, ran_revision: revision, touched_at: now }
          await rows
            .insertInto('unfinished_streams')
            .values(row)
            .onConflict((conflict) =>
              conflict
                .columns(['service', 'stream'])
                .doUpdateSet({ ran_revision: revision })
                .where('unfinished_streams.ran_revision', '<', revision),
            )
            .execute()
        } else
          await rows
            .deleteFrom('unfinished_streams')
            .where('service', '=', service)
            .where('stream', '=', stream)
            .where('revision', '<=', revision)
            .execute()
      }
    })
  }

  return {
    async touch(trx, streams, now) {
      for (const [stream, revision] of streams) await write(trx, stream, revision, latest.get(stream), now)
    },
    ran(stream, ran) {
      latest.set(stream, ran)
      pending.set(stream, ran)
    },
    flush,
    async behind(before, max) {
      const rows = await db
        .selectFrom('unfinished_streams')
        .select('stream')
        .where('service', '=', service)
        .whereRef('ran_revision', '<', 'revision')
        .where('touched_at', '<=', before)
        .orderBy('touched_at')
        .limit(max)
        .execute()
      return rows.map(({ stream }) => stream)
    },
    async all(categories, now) {
      await flush(now)
      const rows = await db.selectFrom('unfinished_streams').select('stream').where('service', '=', service).execute()
      return rows.map(({ stream }) => stream).filter((stream) => categories.includes(stream.slice(0, stream.indexOf('-'))))
    },
  }
}
