import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import { type Appended, categoryOf, type EventStore, type ExpectedRevision, type NewEvent } from '@penstock/ports/event-store.ts'
import { answerMismatch, checkBatch, type Found, firstRevision } from '../shared/repeat.ts'
import { appendOf, type EventLogs, tableOf } from './event-logs.ts'
import { sqlState } from './faults.ts'
import type { Pool } from './pool.ts'

type Job = {
  readonly stream: string
  readonly expected: ExpectedRevision
  readonly events: readonly NewEvent[]
  readonly resolve: (answer: Appended) => void
  readonly reject: (reason: unknown) => void
}

/** Most of one transaction: it holds up everybody else's. */
const MOST_EVENTS = 1000
const MOST_CHARACTERS = 4_000_000

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Appender = Pick<EventStore, 'append'> & { idle(): Promise<void> }

/** Appends to the log of the service that owns the stream's category. @param grown told which categories did */
export function eventAppender(pool: Pool, logs: EventLogs, grown: (categories: readonly string[]) => void): Appender {
  const appenders = new Map<string, Appender>()
  const appenderOf = (log: string): Appender => {
    const present = appenders.get(log) ?? logAppender(pool, log, grown)
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
 * Appends of concurrent callers share a transaction: what comes while one is under way goes with the next. One at a
 * time, since the server lets one writer of a log in at a time anyway, and so a stream's appends are carried out as they came.
 */
function logAppender(pool: Pool, log: string, grown: (categories: readonly string[]) => void): Appender {
  let waiting: Job[] = []
  let draining: Promise<void> | undefined

  async function drain(): Promise<void> {
    // What is asked for in one turn of the event loop goes together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const { group, rest } = nextGroup(waiting)
      waiting = rest
      await carryOut({ pool, log, grown }, group)
    }
    draining = undefined
  }

  return {
    append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
      checkBatch(stream, events)
      for (const { id } of events) must(UUID.test(id), `an event id is a UUID in lower case, not "${id}"`)
      return new Promise((resolve, reject) => {
        waiting.push({ stream, expected, events, resolve, reject })
        draining ??= drain()
      })
    },
    /** After what is queued was carried out. */
    idle: async (): Promise<void> => draining,
  }
}

/** In the order in which they came, each stream once: a second append of a stream depends on what becomes of the first. */
function nextGroup(jobs: readonly Job[]): { group: Job[]; rest: Job[] } {
  const group: Job[] = []
  const rest: Job[] = []
  const streams = new Set<string>()
  let [events, characters] = [0, 0]
  for (const job of jobs) {
    const size = job.events.reduce((sum, { data, meta }) => sum + data.length + meta.length, 0)
    const fits = events + job.events.length <= MOST_EVENTS && characters + size <= MOST_CHARACTERS
    if (streams.has(job.stream) || (!fits && group.length > 0)) rest.push(job)
    else {
      group.push(job)
      events += job.events.length
      characters += size
    }
    streams.add(job.stream)
  }
  return { group, rest }
}

type To = { readonly pool: Pool; readonly log: string; readonly grown: (categories: readonly string[]) => void }

/** Where one append cannot be stored, the others of its transaction are tried without it. */
async function carryOut(to: To, group: readonly Job[]): Promise<void> {
  try {
    const heads = await store(to, group)
    to.grown(group.map(({ stream }) => categoryOf(stream)))
    await Promise.all(group.map((job, index) => answer(to, job, heads[index])))
  } catch (error) {
    if (error instanceof Fault) for (const job of group) job.reject(error)
    else if (group.length > 1) for (const job of group) await carryOut(to, [job])
    else group[0]?.reject(refused(group[0], error))
  }
}

type Head = { head: number; last_position: string | null }

const storeIn = (log: string) => ({
  name: `append ${log}`,
  text: `select head, last_position from ${appendOf(log)}($1, $2, $3, $4, $5, $6, $7)`,
})

async function store({ pool, log }: To, group: readonly Job[]): Promise<readonly Head[]> {
  const events = group.flatMap((job, index) => job.events.map((event) => ({ ...event, batch: index + 1 })))
  const { rows } = await pool.query<Head>({
    ...storeIn(log),
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

async function answer(to: To, { stream, expected, events, resolve, reject }: Job, row: Head | undefined): Promise<void> {
  try {
    if (!row) throw new Bug('the event log did not answer for every append')
    const { head, last_position: position } = row
    if (position !== null) return resolve({ outcome: 'appended', revision: head + events.length, position: BigInt(position) })
    resolve(answerMismatch(expected, head < 0 ? 'none' : head, events, await find(to, stream, events)))
  } catch (error) {
    reject(error)
  }
}

const findIn = (log: string) => ({
  name: `find ${log}`,
  text: `select id, revision, position from ${tableOf(log)} where stream = $1 and id = any ($2::uuid[])`,
})

async function find({ pool, log }: To, stream: string, events: readonly NewEvent[]): Promise<readonly Found[]> {
  const { rows } = await pool.query<{ id: string; revision: number; position: string }>({
    ...findIn(log),
    values: [stream, events.map(({ id }) => id)],
  })
  return rows.map(({ id, revision, position }) => ({ id, revision, position: BigInt(position) }))
}

function refused({ stream }: Job, error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error)
  return sqlState(error) === undefined ? error : new Bug(`an append to ${stream} cannot be stored: ${message}`, { cause: error })
}
