import type { LimitOutcome, Limits } from '@penstock/ports/limits.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'

type LimitTables = {
  /** `hits`: a JSON array with the timestamps of the hits that may still count. */
  limit_hits: { key: string; hits: string; expires_at: number }
  last_seen: { key: string; at: number }
}

const SWEEP_EVERY = 256

/** Counts hits in exact sliding windows. One row per key contains the timestamps of its hits. */
export async function sqlLimits(views: Views): Promise<Limits> {
  await views.migrate('limits', [createTables])
  const db = views.db.$extendTables<LimitTables>()
  let hits = 0

  return {
    async hit(key, limit, windowMs, now) {
      if (limit === 0) return { allowed: true, remaining: Number.MAX_SAFE_INTEGER }
      if (++hits % SWEEP_EVERY === 0) await db.deleteFrom('limit_hits').where('expires_at', '<', now).execute()
      return db.transaction().execute((trx) => countHit(trx, key, limit, windowMs, now))
    },
    takeBack: (key, at) => db.transaction().execute((trx) => removeHit(trx, key, at)),
    async touch(key, now) {
      await db
        .insertInto('last_seen')
        .values({ key, at: now })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ at: now }).where('last_seen.at', '<', now))
        .execute()
    },
    async lastSeen(key) {
      const row = await db.selectFrom('last_seen').select('at').where('key', '=', key).executeTakeFirst()
      return row?.at
    },
  }
}

async function countHit(
  db: Kysely<LimitTables>,
  key: string,
  limit: number,
  windowMs: number,
  now: number,
): Promise<LimitOutcome> {
  // The upsert locks the row, so that concurrent hits of a key run one after the other.
  const row = await db
    .insertInto('limit_hits')
    .values({ key, hits: '[]', expires_at: now + windowMs })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ expires_at: now + windowMs }))
    .returning('hits')
    .executeTakeFirstOrThrow()
  const stored = JSON.parse(row.hits) as number[] // written below
  const counting = stored.filter((at) => at > now - windowMs)
  if (counting.length >= limit) return { allowed: false, retryAfterMs: (counting.at(-limit) ?? now) + windowMs - now }
  counting.push(now)
  counting.sort((a, b) => a - b) // replicas' clocks differ a little
  await db
    .updateTable('limit_hits')
    .set({ hits: JSON.stringify(counting) })
    .where('key', '=', key)
    .execute()
  return { allowed: true, remaining: limit - counting.length }
}

async function removeHit(db: Kysely<LimitTables>, key: string, at: number): Promise<void> {
  // The update locks the row before the read, as in `countHit`.
  const row = await db
    .updateTable('limit_hits')
    .set((row) => ({ hits: row.ref('hits') }))
    .where('key', '=', key)
    .returning('hits')
    .executeTakeFirst()
  const stored = row ? (JSON.parse(row.hits) as number[]) : [] // written by `countHit`
  const index = stored.indexOf(at)
  if (index < 0) return
  await db
    .updateTable('limit_hits')
    .set({ hits: JSON.stringify(stored.toSpliced(index, 1)) })
    .where('key', '=', key)
    .execute()
}

async function createTables(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('limit_hits')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('hits', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('limit_hits_by_expiry').on('limit_hits').column('expires_at').execute()
  await db.schema
    .createTable('last_seen')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
}
