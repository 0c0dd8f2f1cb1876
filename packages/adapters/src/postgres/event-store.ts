import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { createLogFollowers } from '../shared/log-followers.ts'
import { assembleServerStore } from '../shared/server-event-store.ts'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import { checkDurable } from './durable.ts'
import { createPostgresAppender } from './event-appender.ts'
import { createPostgresReader } from './event-reader.ts'
import type { EventLogs } from './event-logs.ts'
import { createNotifier, listenToChannel } from './notifications.ts'
import { openConnectionPool, type PostgresSettings } from './pool.ts'

export type PostgresStoreOptions = PostgresSettings & {
  readonly logs: EventLogs
  /** Milliseconds between two reads of a follower while no notification arrives. */
  readonly pollMs?: number
  /** Called whenever a follower fails to read. The follower retries by itself. */
  readonly onFault?: (fault: Fault) => void
}

const POLL_MS = 1000
/** Number of polls from one read to the next while notifications arrive. */
const POLLS_PER_READ = 5
const CHANNEL = 'event_log'
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000

/**
 * Stores events in PostgreSQL, for any number of processes. `migrateEventLogs` must have created the tables.
 * @throws Error if the settings of the server may lose acknowledged events
 */
export async function postgresEventStore(options: PostgresStoreOptions): Promise<EventStore> {
  const pool = openConnectionPool(options)
  await checkDurable(pool).catch(async (error: unknown) => {
    await pool.end()
    throw error
  })
  const reader = createPostgresReader(pool, options.logs)
  const closed = new AbortController()
  const followers = createLogFollowers({
    async page(after, max, categories) {
      const events = await reader.page(after, max, categories)
      return { events, until: events.at(-1)?.position ?? (after === 'start' ? 0n : after) }
    },
  })
  const notifier = createNotifier(pool, CHANNEL, followers.areReadHere)
  const appender = createPostgresAppender(pool, options.logs, (grownCategories) => {
    followers.wake(new Set(grownCategories))
    notifier.notify(grownCategories)
  })
  const notices = listenToChannel(options, CHANNEL, (payload) => {
    const grownCategories = payload?.split(',') ?? []
    if (notifier.isOwn(grownCategories)) return
    followers.wake(payload ? new Set(grownCategories) : undefined)
  })
  let polls = 0
  const poll = setInterval(() => {
    if (!notices.isHearing() || ++polls % POLLS_PER_READ === 0) followers.wake()
  }, options.pollMs ?? POLL_MS)
  poll.unref()
  return assembleServerStore(
    {
      appender,
      reader,
      follow: (followOptions) => followThroughFaults(followers.follow, followOptions, closed.signal, options.onFault),
      async stopListening() {
        clearInterval(poll)
        followers.close()
        await notices.close()
      },
      async disconnect() {
        await notifier.close()
        await pool.end()
      },
    },
    closed,
  )
}

type Follow = (options: FollowOptions) => AsyncIterable<readonly StoredEvent[]>

/** Follows across restarts of the server. After a fault it continues from its last position. */
async function* followThroughFaults(
  follow: Follow,
  options: FollowOptions,
  closed: AbortSignal,
  onFault: PostgresStoreOptions['onFault'],
): AsyncGenerator<readonly StoredEvent[]> {
  const { after, signal } = options
  let position = after
  for (let tries = 0; !signal.aborted && !closed.aborted; tries++) {
    try {
      for await (const batch of follow({ ...options, after: position })) {
        position = batch.at(-1)?.position ?? position
        tries = 0
        yield batch
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onFault?.(error)
      await systemClock.sleep(
        computeBackoffMs(tries, systemChance, FIRST_WAIT_MS, LONGEST_WAIT_MS),
        AbortSignal.any([signal, closed]),
      )
    }
  }
}
