import { splitForStatements } from '@penstock/kernel/statement-sizes.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import { createHandledCommandsTable } from './handled-commands.ts'

/**
 * The open streams: their process has not ended, so a restart has to check them. The table is an index over the service's
 * own streams. The relay saves it together with its position. So the relay rebuilds it if both are deleted, but not the table alone.
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

/** Creates the tables of open streams, and of their commands that were handled. */
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
    createHandledCommandsTable,
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
      await saveRuns(views.db, service, batch, now)
    } catch (error) {
      pending = new Map([...batch, ...pending])
      throw error
    }
  }

  return {
    async touch(trx, streams, now) {
      const saved = new Map<string, ProcessRun>()
      const rows: Row[] = []
      for (const [stream, revision] of streams) {
        const ran = latest.get(stream)
        const isCurrent = ran !== undefined && ran.revision >= revision
        // The next flush deletes the row, or an earlier flush has deleted it.
        if (isCurrent && ran.pendingStep === 'nothing') continue
        const asking = RANKS[ran?.pendingStep ?? 'command']
        rows.push({ service, stream, revision, ran_revision: isCurrent ? ran.revision : -1, asking, touched_at: now })
        if (ran?.revision === revision) saved.set(stream, ran)
      }
      await saveGrown(trx, rows)
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

type Row = OpenStreamsTable['unfinished_streams']
type StreamRevision = Pick<Row, 'stream' | 'revision'>

/** Saves that streams grew to their revisions. */
async function saveGrown(trx: Transaction<object>, rows: readonly Row[]): Promise<void> {
  for (const group of splitForStatements(sortByStream(rows)))
    await trx
      .$extendTables<OpenStreamsTable>()
      .insertInto('unfinished_streams')
      .values(group)
      // The row's revision must not decrease: the relay may be behind a replica that ran the process, or may have paused.
      .onConflict((conflict) =>
        conflict
          .columns(['service', 'stream'])
          .doUpdateSet((row) => ({
            revision: row.ref('excluded.revision'),
            ran_revision: row.ref('excluded.ran_revision'),
            asking: row.ref('excluded.asking'),
            touched_at: row.ref('excluded.touched_at'),
          }))
          .whereRef('unfinished_streams.revision', '<=', 'excluded.revision')
          .whereRef('unfinished_streams.ran_revision', '<', 'excluded.revision'),
      )
      .execute()
}

/** Saves runs, and deletes the rows of ended processes. Each statement commits alone, because a repetition has no effect. */
async function saveRuns(db: Views['db'], service: string, runs: ReadonlyMap<string, ProcessRun>, now: number): Promise<void> {
  const rows: Row[] = []
  const ended: StreamRevision[] = []
  for (const [stream, { revision, pendingStep }] of runs) {
    if (pendingStep === 'nothing') ended.push({ stream, revision })
    else rows.push({ service, stream, revision, ran_revision: revision, asking: RANKS[pendingStep], touched_at: now })
  }
  const tables = db.$extendTables<OpenStreamsTable>()
  for (const group of splitForStatements(sortByStream(rows)))
    await tables
      .insertInto('unfinished_streams')
      .values(group)
      .onConflict((conflict) =>
        conflict
          .columns(['service', 'stream'])
          .doUpdateSet((row) => ({ ran_revision: row.ref('excluded.ran_revision'), asking: row.ref('excluded.asking') }))
          .whereRef('unfinished_streams.ran_revision', '<=', 'excluded.ran_revision'),
      )
      .execute()
  for (const group of splitForStatements(ended))
    await tables
      .deleteFrom('unfinished_streams')
      .where('service', '=', service)
      .where((row) =>
        row.or(group.map(({ stream, revision }) => row.and([row('stream', '=', stream), row('revision', '<=', revision)]))),
      )
      .execute()
}

/** Every insertion locks the rows in the same order, so that two of them never deadlock. */
const sortByStream = (rows: readonly Row[]): readonly Row[] => rows.toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
