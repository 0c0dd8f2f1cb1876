import { setImmediate as nextTurn } from 'node:timers/promises'
import { runWithRegularPriority } from '@penstock/runtime/commands/low-priority.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { type EventLogs, POSITION_SEQUENCE, servicesOf, logTableOf } from './event-logs.ts'
import type { ConnectionPool } from './pool.ts'

type Row = { position: string; stream: string; revision: number; id: string; type: string; data: string; meta: string }
type Query = { readonly name?: string; readonly text: string }

const EVENT_COLUMNS = 'position, stream, revision, id, type, data, meta'
/**
 * The highest possible position. A read of one log needs no other limit, because it sees all positions below a visible position.
 */
const MAX_POSITION = '9223372036854775807'

/** A statement reads at most so many streams, which bounds the size of its result. */
const MAX_STREAMS = 32

const streamsQuery = (log: string): Query => ({
  name: `read-streams ${log}`,
  text: `select wanted.n, e.* from unnest($1::text[], $2::int[], $3::int[]) with ordinality as wanted (stream, first, max, n)
    cross join lateral (
      select ${EVENT_COLUMNS} from ${logTableOf(log)} l
      where l.stream = wanted.stream and l.revision >= wanted.first order by l.revision limit wanted.max
    ) e order by wanted.n, e.revision`,
})

const selectAll = (log: string): string =>
  `(select ${EVENT_COLUMNS} from ${logTableOf(log)} where position > $1 and position <= $3 order by position limit $2)`
/** Reads each category by the index, so that a follower of a quiet category does not read the busy categories. */
const selectCategories = (log: string): string => `(select e.* from unnest($4::text[]) as wanted (category) cross join lateral (
      select ${EVENT_COLUMNS} from ${logTableOf(log)} l
      where l.category = wanted.category and l.position > $1 and l.position <= $3 order by l.position limit $2
    ) e order by e.position limit $2)`

const logsQuery = (logs: readonly string[], isByCategory: boolean): Query => ({
  // Only the query of one log is a prepared statement, because the name of such a statement has at most 63 characters.
  ...(logs.length === 1 && { name: `read-${isByCategory ? 'categories' : 'all'} ${logs[0]}` }),
  text: `select * from (${logs.map(isByCategory ? selectCategories : selectAll).join(' union all ')}) e order by position limit $2`,
})

export function createPostgresReader(pool: ConnectionPool, logs: EventLogs) {
  const all = servicesOf(logs)
  /** No log gets a new event at or below this position. */
  let settledPosition = 0n

  const read = async (query: Query, values: readonly unknown[]): Promise<readonly StoredEvent[]> => {
    const { rows } = await pool.query<Row>({ ...query, values: [...values] })
    return rows.map(toStoredEvent)
  }
  const streamReaders = new Map(all.map((log) => [log, createStreamReader(pool, log)]))
  /** Each lock is taken by a separate transaction, so that no wait for one log holds the lock of another. */
  const holdLocksInTurn = all
    .map((log) => `begin; select pg_advisory_xact_lock_shared('${logTableOf(log)}'::regclass::oid::bigint); commit`)
    .join('; ')

  /**
   * Advances `settledPosition` to the last assigned position. An append in progress in one log may have a lower position than a
   * visible event of another log. Appends take positions under the lock of their log. So once this reader has held the lock,
   * every earlier position of the log is visible or stays unused.
   */
  async function settlePositions(): Promise<void> {
    const connection = await pool.connect()
    let isSettled = false
    try {
      const { rows } = await connection.query<{ last: string | null }>(
        `select case when is_called then last_value end as last from ${POSITION_SEQUENCE}`,
      )
      await connection.query(holdLocksInTurn)
      settledPosition = BigInt(rows[0]?.last ?? 0)
      isSettled = true
    } finally {
      // A failed statement leaves its transaction open.
      connection.release(!isSettled)
    }
  }

  return {
    async read(stream: string, from: number, max: number | undefined): Promise<readonly StoredEvent[]> {
      const log = logs.get(categoryOf(stream))
      const readStream = log === undefined ? undefined : streamReaders.get(log)
      return readStream ? readStream({ stream, from, max: max ?? null }) : []
    },
    async page(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
      const known = categories && [...new Set(categories)].filter((category) => logs.has(category))
      const wantedLogs = known ? all.filter((log) => known.some((category) => logs.get(category) === log)) : all
      if (wantedLogs.length === 0) return []
      const query = logsQuery(wantedLogs, known !== undefined)
      const readUpTo = (end: string) =>
        read(query, [after === 'start' ? '0' : String(after), max, end, ...(known ? [known] : [])])
      if (wantedLogs.length === 1) return readUpTo(MAX_POSITION)
      const readSettled = async () =>
        (after === 'start' ? 0n : after) < settledPosition ? readUpTo(String(settledPosition)) : []
      const events = await readSettled()
      if (events.length === max) return events
      await settlePositions()
      return readSettled()
    },
  }
}

const toStoredEvent = ({ position, stream, revision, id, type, data, meta }: Row): StoredEvent => ({
  position: BigInt(position),
  stream,
  revision,
  id,
  type,
  data,
  meta,
})

type StreamRead = { readonly stream: string; readonly from: number; readonly max: number | null }
type WaitingRead = StreamRead & {
  readonly resolve: (events: readonly StoredEvent[]) => void
  readonly reject: (reason: unknown) => void
}

/** Reads streams. The reads of one event-loop turn share a statement, because each block causes many of them. */
function createStreamReader(pool: ConnectionPool, log: string) {
  const query = streamsQuery(log)
  let waiting: WaitingRead[] = []

  async function readWaiting(): Promise<void> {
    await nextTurn()
    const reads = waiting
    waiting = []
    for (let first = 0; first < reads.length; first += MAX_STREAMS) void readTogether(reads.slice(first, first + MAX_STREAMS))
  }
  async function readTogether(reads: readonly WaitingRead[]): Promise<void> {
    const values = [reads.map(({ stream }) => stream), reads.map(({ from }) => from), reads.map(({ max }) => max)]
    try {
      const { rows } = await pool.query<Row & { n: string }>({ ...query, values })
      const found = Map.groupBy(rows, ({ n }) => Number(n))
      for (const [index, { resolve }] of reads.entries()) resolve((found.get(index + 1) ?? []).map(toStoredEvent))
    } catch (error) {
      // A damaged row of one stream must not hide the other streams.
      if (!(error instanceof Fault) && reads.length > 1) for (const read of reads) void readTogether([read])
      else for (const { reject } of reads) reject(error)
    }
  }
  return (read: StreamRead): Promise<readonly StoredEvent[]> =>
    new Promise((resolve, reject) => {
      if (waiting.push({ ...read, resolve, reject }) === 1) void runWithRegularPriority(readWaiting)
    })
}
