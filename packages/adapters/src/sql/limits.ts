import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { LimitOutcome, Limits } from '@penstock/ports/limits.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'

type LimitTables = {
  /** `hits`: a JSON array of the hits that may still count, oldest first. */
  limit_hits: { key: string; hits: string; expires_at: number }
  last_seen: { key: string; at: number }
}

/** The number of hits at an instant. */
type Hits = readonly [at: number, count: number]

const SWEEP_EVERY = 256

/** A higher limit counts by the second, so that the size of its row has a bound. */
const MAX_EXACT_LIMIT = 100

/** Returns the last millisecond of a second, so that a hit counts at least as long as it should. */
const toEndOfSecond = (at: number): number => at - (at % SECOND_MS) + SECOND_MS - 1

/**
 * Counts hits in sliding windows, which are exact up to `MAX_EXACT_LIMIT`. Above it a hit may count up to a second longer. One
 * row per key contains its hits.
 */
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
  const stored = JSON.parse(row.hits) as Hits[] // written by `storeHits`
  const counting = stored.filter(([at]) => at > now - windowMs)
  const total = counting.reduce((sum, [, count]) => sum + count, 0)
  if (total >= limit) return { allowed: false, retryAfterMs: findHit(counting, limit, now) + windowMs - now }
  await storeHits(db, key, addHits(counting, limit > MAX_EXACT_LIMIT ? toEndOfSecond(now) : now, 1))
  return { allowed: true, remaining: limit - total - 1 }
}

/** Finds the time of the hit that is `fromLast` hits from the end. The next hit is allowed when it no longer counts. */
function findHit(hits: readonly Hits[], fromLast: number, otherwise: number): number {
  let left = fromLast
  for (const [at, count] of hits.toReversed()) {
    left -= count
    if (left <= 0) return at
  }
  return otherwise
}

/** Changes the number of hits at an instant. The result is sorted, because the clocks of replicas differ a little. */
const addHits = (hits: readonly Hits[], at: number, change: number): readonly Hits[] => {
  const count = (hits.find(([time]) => time === at)?.[1] ?? 0) + change
  const others = hits.filter(([time]) => time !== at)
  return count > 0 ? [...others, [at, count] as const].toSorted(([a], [b]) => a - b) : others
}

async function storeHits(db: Kysely<LimitTables>, key: string, hits: readonly Hits[]): Promise<void> {
  await db
    .updateTable('limit_hits')
    .set({ hits: JSON.stringify(hits) })
    .where('key', '=', key)
    .execute()
}

async function removeHit(db: Kysely<LimitTables>, key: string, at: number): Promise<void> {
  // The update locks the row before the read, as in `countHit`.
  const row = await db
    .updateTable('limit_hits')
    .set((row) => ({ hits: row.ref('hits') }))
    .where('key', '=', key)
    .returning('hits')
    .executeTakeFirst()
  const stored = row ? (JSON.parse(row.hits) as Hits[]) : [] // written by `storeHits`
  const counted = [at, toEndOfSecond(at)].find((time) => stored.some(([hit]) => hit === time))
  if (counted !== undefined) await storeHits(db, key, addHits(stored, counted, -1))
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
