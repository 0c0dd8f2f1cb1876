import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { AppendOutcome, EventStore, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { createBatchQueue } from '../shared/batch-queue.ts'
import { answerMismatch, checkBatch, type FoundEvent, firstRevision } from '../shared/idempotent-append.ts'
import { appendFunctionOf, type EventLogs, logTableOf } from './event-logs.ts'
import { sqlStateOf } from './faults.ts'
import type { ConnectionPool } from './pool.ts'

type Job = {
  readonly stream: string
  readonly expected: ExpectedRevision
  readonly events: readonly NewEvent[]
  readonly resolve: (answer: AppendOutcome) => void
  readonly reject: (reason: unknown) => void
}

/** Limits of one transaction, because a transaction blocks all other appends to its log. */
const MAX_EVENTS = 1000
const MAX_CHARACTERS = 4_000_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Appender = Pick<EventStore, 'append'> & { idle(): Promise<void> }

/** Appends to the log of the service that owns the category of the stream. @param onGrown is called with the grown categories */
export function createPostgresAppender(
  pool: ConnectionPool,
  logs: EventLogs,
  onGrown: (categories: readonly string[]) => void,
): Appender {
  const appenders = new Map<string, Appender>()
  const appenderOf = (log: string): Appender => {
    const present = appenders.get(log) ?? createLogAppender(pool, log, onGrown)
    appenders.set(log, present)
    return present
  }
  return {
    async append(stream, expected, events) {
      const log = logs.get(categoryOf(stream))
      if (log === undefined) throw new Bug(`no service owns the stream ${stream}: it has no log`)
      return appenderOf(log).append(stream, expected, events)
    },
    idle: async () => void (await Promise.all([...appenders.values()].map((one) => one.idle()))),
  }
}

/**
 * Appends of concurrent callers share a transaction. Transactions run one at a time, because the server admits one writer per
 * log, and so that the appends of a stream stay in order.
 */
function createLogAppender(pool: ConnectionPool, log: string, onGrown: (categories: readonly string[]) => void): Appender {
  const queue = createBatchQueue<Job>({
    // Appends of one event-loop turn share a transaction.
    gather: nextTurn,
    select: selectGroup,
    run: (group) => appendGroup({ pool, log, onGrown }, group),
  })
  return {
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendOutcome> {
      checkBatch(stream, events)
      for (const { id } of events) assert(UUID.test(id), `an event id is a UUID in lower case, not "${id}"`)
      return new Promise((resolve, reject) => queue.add({ stream, expected, events, resolve, reject }))
    },
    idle: queue.idle,
  }
}

/** Selects jobs in order of arrival, one per stream: a second append of a stream depends on the outcome of the first. */
function selectGroup(jobs: readonly Job[]): { batch: Job[]; rest: Job[] } {
  const batch: Job[] = []
  const rest: Job[] = []
  const streams = new Set<string>()
  let [events, characters] = [0, 0]
  for (const job of jobs) {
    const size = job.events.reduce((sum, { data, meta }) => sum + data.length + meta.length, 0)
    const fits = events + job.events.length <= MAX_EVENTS && characters + size <= MAX_CHARACTERS
    if (streams.has(job.stream) || (!fits && batch.length > 0)) rest.push(job)
    else {
      batch.push(job)
      events += job.events.length
      characters += size
    }
    streams.add(job.stream)
  }
  return { batch, rest }
}

type AppendTarget = {
  readonly pool: ConnectionPool
  readonly log: string
  readonly onGrown: (categories: readonly string[]) => void
}

/** Stores a group. If one append cannot be stored, each append of the group is tried alone. */
async function appendGroup(target: AppendTarget, group: readonly Job[]): Promise<void> {
  try {
    const heads = await storeGroup(target, group)
    target.onGrown(group.map(({ stream }) => categoryOf(stream)))
    await Promise.all(group.map((job, index) => answerJob(target, job, heads[index])))
  } catch (error) {
    if (error instanceof Fault) for (const job of group) job.reject(error)
    else if (group.length > 1) for (const job of group) await appendGroup(target, [job])
    else group[0]?.reject(toRefusal(group[0], error))
  }
}

type AppendRow = { head: number; last_position: string | null }

const appendQuery = (log: string) => ({
  name: `append ${log}`,
  text: `select head, last_position from ${appendFunctionOf(log)}($1, $2, $3, $4, $5, $6, $7)`,
})

async function storeGroup({ pool, log }: AppendTarget, group: readonly Job[]): Promise<readonly AppendRow[]> {
  const events = group.flatMap((job, index) => job.events.map((event) => ({ ...event, batch: index + 1 })))
  const { rows } = await pool.query<AppendRow>({
    ...appendQuery(log),
    values: [
      group.map(({ stream }) => stream),
      group.map(({ expected }) => firstRevision(expected)),
      events.map(({ batch }) => batch),
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ data }) => data),
      events.map(({ meta }) => meta),
    ],
  })
  return rows
}

async function answerJob(
  target: AppendTarget,
  { stream, expected, events, resolve, reject }: Job,
  row: AppendRow | undefined,
): Promise<void> {
  try {
    if (!row) throw new Bug('the event log did not answer for every append')
    const { head, last_position: position } = row
    if (position !== null) return resolve({ outcome: 'appended', revision: head + events.length, position: BigInt(position) })
    resolve(answerMismatch(expected, head < 0 ? 'none' : head, events, await findStored(target, stream, events)))
  } catch (error) {
    reject(error)
  }
}

const findQuery = (log: string) => ({
  name: `find ${log}`,
  text: `select id, revision, position from ${logTableOf(log)} where stream = $1 and id = any ($2::uuid[])`,
})

async function findStored(
  { pool, log }: AppendTarget,
  stream: string,
  events: readonly NewEvent[],
): Promise<readonly FoundEvent[]> {
  const { rows } = await pool.query<{ id: string; revision: number; position: string }>({
    ...findQuery(log),
    values: [stream, events.map(({ id }) => id)],
  })
  return rows.map(({ id, revision, position }) => ({ id, revision, position: BigInt(position) }))
}

function toRefusal({ stream }: Job, error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error)
  return sqlStateOf(error) === undefined
    ? error
    : new Bug(`an append to ${stream} cannot be stored: ${message}`, { cause: error })
}
