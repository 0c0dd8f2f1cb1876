import { randomUUID } from 'node:crypto'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import pg from 'pg'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import { clientConfig, type ConnectionPool, type PostgresSettings } from './pool.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000
/** The server accepts payloads of up to 8,000 bytes. */
const MAX_PAYLOAD = 4000
/** Shortest time in ms between two notifications that are not urgent, because a notification wakes every listening process. */
const NOT_URGENT_EVERY_MS = 500

/**
 * Listens to a channel of the server on a separate connection, and reopens a lost connection. Callers must not depend on
 * notifications, because notifications during a gap are lost and some poolers forward none.
 * @param onNotification gets the payload; undefined after each connect, since notifications may have been missed
 */
export function listenToChannel(
  settings: PostgresSettings,
  channel: string,
  onNotification: (payload: string | undefined) => void,
) {
  const closed = new AbortController()
  let isHearing = false

  async function connectOnce(): Promise<void> {
    const client = new pg.Client(clientConfig({ ...settings, application: `${settings.application ?? 'penstock'} listen` }))
    // Registered before the connect: a client that is ended during the connect emits no later event.
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve())
      client.on('end', () => resolve())
      closed.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    client.on('notification', ({ payload }) => {
      isHearing = true
      onNotification(payload ?? '')
    })
    const start = async (): Promise<void> => {
      await client.connect()
      await client.query(`listen ${channel}`)
      onNotification(undefined)
      await lost
    }
    try {
      await Promise.race([start(), lost])
    } finally {
      isHearing = false
      void client.end().catch(() => undefined)
    }
  }

  async function keepListening(): Promise<void> {
    for (let tries = 0; !closed.signal.aborted; tries++) {
      const since = systemClock.monotonicMs()
      // Other statements report the same error, so here it only causes a retry.
      await connectOnce().catch(() => undefined)
      if (systemClock.monotonicMs() - since > LONGEST_WAIT_MS) tries = 0
      await systemClock.sleep(computeBackoffMs(tries, systemChance, FIRST_WAIT_MS, LONGEST_WAIT_MS), closed.signal)
    }
  }

  const listening = keepListening()
  return {
    /** Whether the present connection has received a notification. Some poolers accept `listen` and forward none. */
    isHearing: () => isHearing,
    async close(): Promise<void> {
      closed.abort()
      await listening
    },
  }
}

/**
 * Notifies followers of other processes about the grown categories. The notification is no part of the append's transaction,
 * because the server serialises the commits of notifying transactions in all databases. Followers also poll, so a missed
 * notification only delays them.
 * @param areReadHere whether no follower in another process needs these categories at once
 */
export function createNotifier(
  pool: Pick<ConnectionPool, 'query'>,
  channel: string,
  areReadHere: (categories: Iterable<string>) => boolean,
) {
  // The previous release ignores an unknown category.
  const ownMark = `from ${randomUUID()}`
  let unsent = new Set<string>()
  let lastSentAt = Number.NEGATIVE_INFINITY
  let isDue = false
  let isClosed = false
  let sending: Promise<void> | undefined
  let delayed: NodeJS.Timeout | undefined

  function sendNow(): void {
    clearTimeout(delayed)
    delayed = undefined
    isDue = true
    sending ??= sendDue()
  }
  async function sendDue(): Promise<void> {
    try {
      while (isDue) {
        isDue = false
        await sendOnce()
      }
    } catch {
      // The followers poll.
    } finally {
      // In the same turn as the last check of `isDue`, so that a later call starts a new loop.
      sending = undefined
    }
  }
  async function sendOnce(): Promise<void> {
    const payload = [...unsent, ownMark].join(',')
    unsent = new Set()
    lastSentAt = systemClock.monotonicMs()
    const values = [payload.length < MAX_PAYLOAD ? payload : '']
    await pool.query({ name: 'tell', text: `select pg_notify('${channel}', $1)`, values })
  }
  return {
    notify(categories: readonly string[]): void {
      if (isClosed) return
      for (const category of categories) unsent.add(category)
      const waitMs = areReadHere(unsent) ? lastSentAt + NOT_URGENT_EVERY_MS - systemClock.monotonicMs() : 0
      if (waitMs <= 0) sendNow()
      else delayed ??= setTimeout(sendNow, waitMs)
    },
    /** Whether this process sent the notification. Its own followers were woken by the append. */
    isOwn: (grownCategories: readonly string[]): boolean => grownCategories.includes(ownMark),
    /** Sends what is unsent. */
    async close(): Promise<void> {
      isClosed = true
      if (unsent.size > 0) sendNow()
      await sending
    },
  }
}
