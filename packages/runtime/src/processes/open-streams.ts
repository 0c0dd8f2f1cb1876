import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'

/**
 * The open streams: their process has not ended, so a restart has to check them. The table is an index over the service's
 * own streams. The relay saves it together with its position, so that the table can be dropped and rebuilt from the log.
 */
type OpenStreamsTable = {
  unfinished_streams: {
    service: string
    stream: string
    revision: number
    ran_revision: number
    asking: number
    touched_at: number
  }
}

/** The most urgent step that a process waits for. At a deadline a timer runs the process, even if messages are lost. */
export type PendingStep = 'nothing' | 'deadline' | 'command' | 'effect'

export type ProcessRun = { readonly revision: number; readonly pendingStep: PendingStep }

export type OpenStreams = {
  /**
   * Records that the relay saw these streams grow, in the transaction that moves its position.
   * @returns the runs that the transaction saves too
   */
  touch(trx: Transaction<object>, streams: ReadonlyMap<string, number>, now: number): Promise<ReadonlyMap<string, ProcessRun>>
  /** Lets the next flush leave out runs that a committed transaction has saved. */
  confirmSaved(runs: ReadonlyMap<string, ProcessRun>): void
  /** Records that the process of a stream ran at this revision; the next flush saves it. */
  recordRun(stream: string, ran: ProcessRun): void
  /** Saves the runs that were recorded since the last flush. */
  flush(now: number): Promise<void>
  /** Streams that were touched before `before`, and whose process is not known to have run at their newest revision. */
  listBehind(before: number, max: number): Promise<readonly string[]>
  /** All open streams. */
  listAll(categories: readonly string[], now: number): Promise<readonly string[]>
  /** Streams that wait for at least `least` and have not grown since `before`. */
  listPending(categories: readonly string[], least: 'command' | 'effect', before: number): Promise<readonly string[]>
  /** Counts the open streams. */
  count(): Promise<number>
  /** Moves a stream behind the others, because its process failed. */
  postpone(stream: string, now: number): Promise<void>
}

/** The numbers that the table stores. */
const RANKS: Readonly<Record<PendingStep, number>> = { nothing: 0, deadline: 0, command: 1, effect: 2 }

export async function migrateOpenStreams(views: Views): Promise<void> {
  await views.migrate('unfinished', [
    async (db) => {
      await db.schema
        .createTable('unfinished_streams')
        .addColumn('service', 'text', (column) => column.notNull())
        .addColumn('stream', 'text', (column) => column.notNull())
        .addColumn('revision', 'integer', (column) => column.notNull())
        .addColumn('ran_revision', 'integer', (column) => column.notNull())
        .addColumn('asking', 'integer', (column) => column.notNull())
        .addColumn('touched_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('unfinished_streams_pk', ['service', 'stream'])
        .execute()
    },
  ])
}

export function trackOpenStreams(views: Views, service: string): OpenStreams {
  const latest = new LRUCache<string, ProcessRun>({ max: STREAM_CACHE_SIZE })
  let pending = new Map<string, ProcessRun>()

  async function flush(now: number): Promise<void> {
    if (pending.size === 0) return
    const batch = pending
    pending = new Map()
    try {
      await views.db.transaction().execute(async (trx) => {
        for (const [stream, ran] of sortByStream(batch)) await saveRun(trx, { service, stream }, ran, now)
      })
    } catch (error) {
      pending = new Map([...batch, ...pending])
      throw error
    }
  }

  return {
    async touch(trx, streams, now) {
      const saved = new Map<string, ProcessRun>()
      for (const [stream, revision] of sortByStream(streams)) {
        const ran = latest.get(stream)
        await saveGrown(trx, { service, stream }, revision, ran, now)
        if (ran?.revision === revision) saved.set(stream, ran)
      }
      return saved
    },
    confirmSaved(runs) {
      for (const [stream, ran] of runs) if (pending.get(stream) === ran) pending.delete(stream)
    },
    recordRun(stream, ran) {
      latest.set(stream, ran)
      pending.set(stream, ran)
    },
    flush,
    ...createQueries(views, service, flush),
  }
}

/** Every transaction locks the rows in the same order, so that two transactions never deadlock. */
const sortByStream = <T>(streams: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...streams].sort(([a], [b]) => (a < b ? -1 : 1))

function createQueries(
  views: Views,
  service: string,
  flush: OpenStreams['flush'],
): Pick<OpenStreams, 'listBehind' | 'listAll' | 'listPending' | 'count' | 'postpone'> {
  const db = views.db.$extendTables<OpenStreamsTable>()
  const open = db.selectFrom('unfinished_streams').select('stream').where('service', '=', service)
  return {
    async listBehind(before, max) {
      const rows = await open
        .whereRef('ran_revision', '<', 'revision')
        .where('touched_at', '<=', before)
        .orderBy('touched_at')
        .limit(max)
        .execute()
      return rows.map(({ stream }) => stream)
    },
    async listAll(categories, now) {
      await flush(now)
      return filterByCategory(await open.execute(), categories)
    },
    async listPending(categories, least, before) {
      const rows = await open.where('asking', '>=', RANKS[least]).where('touched_at', '<=', before).execute()
      return filterByCategory(rows, categories)
    },
    async count() {
      const rows = db.selectFrom('unfinished_streams').select(({ fn }) => fn.countAll().as('open'))
      return Number((await rows.where('service', '=', service).executeTakeFirstOrThrow()).open)
    },
    async postpone(stream, now) {
      const rows = db.updateTable('unfinished_streams').set({ touched_at: now })
      await rows.where('service', '=', service).where('stream', '=', stream).execute()
    },
  }
}

const filterByCategory = (rows: readonly { readonly stream: string }[], categories: readonly string[]): readonly string[] =>
  rows.map(({ stream }) => stream).filter((stream) => categories.includes(categoryOf(stream)))

type RowKey = { readonly service: string; readonly stream: string }

/** Saves that a stream grew to a revision. `ran` is the last run of its process in this replica, if there was one. */
async function saveGrown(
  trx: Transaction<object>,
  key: RowKey,
  revision: number,
  ran: ProcessRun | undefined,
  now: number,
): Promise<void> {
  const current = ran !== undefined && ran.revision >= revision
  if (current && ran.pendingStep === 'nothing') return deleteUpTo(trx, key, ran.revision)
  const asking = RANKS[ran?.pendingStep ?? 'command']
  const changes = { revision, ran_revision: current ? ran.revision : -1, asking, touched_at: now }
  await trx
    .$extendTables<OpenStreamsTable>()
    .insertInto('unfinished_streams')
    .values({ ...key, ...changes })
    // The row's revision must not decrease: the relay may be behind a replica that ran the process, or may have paused.
    .onConflict((conflict) =>
      conflict
        .columns(['service', 'stream'])
        .doUpdateSet(changes)
        .where('unfinished_streams.revision', '<=', revision)
        .where('unfinished_streams.ran_revision', '<', revision),
    )
    .execute()
}

async function saveRun(trx: Transaction<object>, key: RowKey, { revision, pendingStep }: ProcessRun, now: number): Promise<void> {
  if (pendingStep === 'nothing') return deleteUpTo(trx, key, revision)
  const changes = { ran_revision: revision, asking: RANKS[pendingStep] }
  await trx
    .$extendTables<OpenStreamsTable>()
    .insertInto('unfinished_streams')
    .values({ ...key, revision, ...changes, touched_at: now })
    .onConflict((conflict) =>
      conflict.columns(['service', 'stream']).doUpdateSet(changes).where('unfinished_streams.ran_revision', '<=', revision),
    )
    .execute()
}

async function deleteUpTo(trx: Transaction<object>, { service, stream }: RowKey, upTo: number): Promise<void> {
  await trx
    .$extendTables<OpenStreamsTable>()
    .deleteFrom('unfinished_streams')
    .where('service', '=', service)
    .where('stream', '=', stream)
    .where('revision', '<=', upTo)
    .execute()
}
