import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { follows } from '../shared/follows.ts'
import { openStore } from '../shared/open-store.ts'
import { systemClock } from '../system/clock.ts'
import { checkDurable } from './durable.ts'
import { eventAppender } from './event-appender.ts'
import { eventReader } from './event-reader.ts'
import type { EventLogs } from './event-logs.ts'
import { listen } from './notices.ts'
import { openPool, type Pool, type PostgresSettings } from './pool.ts'

export type EventStoreOptions = PostgresSettings & {
  readonly logs: EventLogs
  /** How often followers look without having been told. */
  readonly pollMs?: number
  /** Told whenever a follower could not read on; it tries again by itself. */
  readonly onFault?: (fault: Fault) => void
}

const POLL_MS = 1000
const CHANNEL = 'event_log'
/** The server takes 8,000 bytes of a payload. */
const LONGEST = 4000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000

/**
 * Events in PostgreSQL, for any number of processes. The tables must be there: see `migrateEventLogs`.
 * @throws Error where the server does not keep what it acknowledges
 */
export async function postgresEventStore(options: EventStoreOptions): Promise<EventStore> {
  const pool = openPool(options)
  await checkDurable(pool).catch(async (error: unknown) => {
    await pool.end()
    throw error
  })
  const reader = eventReader(pool, options.logs)
  const appender = eventAppender(pool, options.logs, teller(pool))
  const over = new AbortController()
  const following = follows({
    async page(after, max, categories) {
      const events = await reader.page(after, max, categories)
      return { events, until: events.at(-1)?.position ?? (after === 'start' ? 0n : after) }
    },
  })
  const notices = listen(options, CHANNEL, (grown) => following.wake(grown ? new Set(grown.split(',')) : undefined))
  const poll = setInterval(() => following.wake(), options.pollMs ?? POLL_MS)
  poll.unref()
  return openStore(
    {
      appender,
      reader,
      follow: (wanted) => goingOn(following.follow, wanted, over.signal, options.onFault),
      async deafen() {
        clearInterval(poll)
        following.close()
        await notices.close()
      },
      disconnect: () => pool.end(),
    },
    over,
  )
}

/**
 * Tells other processes' followers which categories grew. Not in the transaction of the append: the server lets one
 * transaction that notifies commit at a time, in all its databases. Followers look by themselves for what was not told.
 */
function teller(pool: Pool): (categories: readonly string[]) => void {
  let untold = new Set<string>()
  let telling = false
  const tell = async (): Promise<void> => {
    try {
      while (untold.size > 0) {
        const payload = [...untold].join(',')
        untold = new Set()
        const values = [payload.length < LONGEST ? payload : '']
        await pool.query({ name: 'tell', text: `select pg_notify('${CHANNEL}', $1)`, values })
      }
    } finally {
      telling = false
    }
  }
  return (categories) => {
    for (const category of categories) untold.add(category)
    if (telling) return
    telling = true
    void tell().catch(() => undefined)
  }
}

type Follow = (options: FollowOptions) => AsyncIterable<readonly StoredEvent[]>

/** Follows through restarts of the server: after a fault it reads on from where it was. */
async function* goingOn(
  follow: Follow,
  { categories, after, signal }: FollowOptions,
  closed: AbortSignal,
  onFault: EventStoreOptions['onFault'],
): AsyncGenerator<readonly StoredEvent[]> {
  let position = after
  for (let tries = 0; !signal.aborted && !closed.aborted; tries++) {
    try {
      for await (const batch of follow({ categories, after: position, signal })) {
        position = batch.at(-1)?.position ?? position
        tries = 0
        yield batch
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onFault?.(error)
      await systemClock.sleep(
        Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 8)),
        AbortSignal.any([signal, closed]),
      )
    }
  }
}
