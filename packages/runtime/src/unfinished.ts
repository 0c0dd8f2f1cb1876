import { categoryOf } from '@penstock/ports/event-store.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'

/**
 * Which streams still ask for something: what a restart has to look at. An index over the service's own streams, kept by
 * the relay together with its position, so that it can be thrown away and made again by reading the log.
 */
type UnfinishedTable = {
  unfinished_streams: {
    service: string
    stream: string
    revision: number
    ran_revision: number
    asking: number
    touched_at: number
  }
}

/** What a process waits for, the most of it: at a deadline the timers wake it by themselves, whatever was lost or hangs. */
export type Asks = 'nothing' | 'deadline' | 'command' | 'effect'

export type Ran = { readonly revision: number; readonly asks: Asks }

export type Unfinished = {
  /** The relay saw these streams grow. In the transaction that moves its position. */
  touch(trx: Transaction<object>, streams: ReadonlyMap<string, number>, now: number): Promise<void>
  /** The process of a stream ran at this revision. */
  ran(stream: string, ran: Ran): void
  /** Writes down what `ran` was told since the last time. */
  flush(now: number): Promise<void>
  /** Streams whose process is not known to have run at their newest revision, touched before `before`. */
  behind(before: number, max: number): Promise<readonly string[]>
  /** All that are open. */
  all(categories: readonly string[], now: number): Promise<readonly string[]>
  /** Those that ask for so much at the least and have not grown since `before`. */
  asking(categories: readonly string[], least: 'command' | 'effect', before: number): Promise<readonly string[]>
  /** How many are open. */
  count(): Promise<number>
  /** Lets others go first: this one could not be advanced. */
  postpone(stream: string, now: number): Promise<void>
}

/** As the table has it. */
const RANKS: Readonly<Record<Asks, number>> = { nothing: 0, deadline: 0, command: 1, effect: 2 }

export async function migrateUnfinished(views: Views): Promise<void> {
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

export function unfinished(views: Views, service: string): Unfinished {
  const latest = lru<string, Ran>(STREAMS_UNDER_WAY)
  let pending = new Map<string, Ran>()

  async function flush(now: number): Promise<void> {
    if (pending.size === 0) return
    const batch = pending
    pending = new Map()
    try {
      await views.db.transaction().execute(async (trx) => {
        for (const [stream, ran] of inOrder(batch)) await keepRan(trx, { service, stream }, ran, now)
      })
    } catch (error) {
      pending = new Map([...batch, ...pending])
      throw error
    }
  }

  return {
    async touch(trx, streams, now) {
      for (const [stream, revision] of inOrder(streams))
        await keepGrown(trx, { service, stream }, revision, latest.get(stream), now)
    },
    ran(stream, ran) {
      latest.set(stream, ran)
      pending.set(stream, ran)
    },
    flush,
    ...looks(views, service, flush),
  }
}

/** Everybody takes the rows in one order, so that two transactions never wait for each other. */
const inOrder = <T>(streams: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...streams].sort(([a], [b]) => (a < b ? -1 : 1))

function looks(
  views: Views,
  service: string,
  flush: Unfinished['flush'],
): Pick<Unfinished, 'behind' | 'all' | 'asking' | 'count' | 'postpone'> {
  const db = views.db.$extendTables<UnfinishedTable>()
  const open = db.selectFrom('unfinished_streams').select('stream').where('service', '=', service)
  return {
    async behind(before, max) {
      const rows = await open
        .whereRef('ran_revision', '<', 'revision')
        .where('touched_at', '<=', before)
        .orderBy('touched_at')
        .limit(max)
        .execute()
      return rows.map(({ stream }) => stream)
    },
    async all(categories, now) {
      await flush(now)
      return ofCategories(await open.execute(), categories)
    },
    async asking(categories, least, before) {
      const rows = await open.where('asking', '>=', RANKS[least]).where('touched_at', '<=', before).execute()
      return ofCategories(rows, categories)
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

const ofCategories = (rows: readonly { readonly stream: string }[], categories: readonly string[]): readonly string[] =>
  rows.map(({ stream }) => stream).filter((stream) => categories.includes(categoryOf(stream)))

type Key = { readonly service: string; readonly stream: string }

/** A stream grew to a revision; whether its process has run since is known where it ran in this process. */
async function keepGrown(trx: Transaction<object>, key: Key, revision: number, ran: Ran | undefined, now: number): Promise<void> {
  const current = ran !== undefined && ran.revision >= revision
  if (current && ran.asks === 'nothing') return drop(trx, key, ran.revision)
  const asking = RANKS[ran?.asks ?? 'command']
  const changes = { revision, ran_revision: current ? ran.revision : -1, asking, touched_at: now }
  await trx
    .$extendTables<UnfinishedTable>()
    .insertInto('unfinished_streams')
    .values({ ...key, ...changes })
    // Not back: the relay may be behind a replica that ran the process, and one that slept tells of what is long done.
    .onConflict((conflict) =>
      conflict
        .columns(['service', 'stream'])
        .doUpdateSet(changes)
        .where('unfinished_streams.revision', '<=', revision)
        .where('unfinished_streams.ran_revision', '<', revision),
    )
    .execute()
}

async function keepRan(trx: Transaction<object>, key: Key, { revision, asks }: Ran, now: number): Promise<void> {
  if (asks === 'nothing') return drop(trx, key, revision)
  const changes = { ran_revision: revision, asking: RANKS[asks] }
  await trx
    .$extendTables<UnfinishedTable>()
    .insertInto('unfinished_streams')
    .values({ ...key, revision, ...changes, touched_at: now })
    .onConflict((conflict) =>
      conflict.columns(['service', 'stream']).doUpdateSet(changes).where('unfinished_streams.ran_revision', '<=', revision),
    )
    .execute()
}

async function drop(trx: Transaction<object>, { service, stream }: Key, upTo: number): Promise<void> {
  await trx
    .$extendTables<UnfinishedTable>()
    .deleteFrom('unfinished_streams')
    .where('service', '=', service)
    .where('stream', '=', stream)
    .where('revision', '<=', upTo)
    .execute()
}
