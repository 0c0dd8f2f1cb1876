import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import pg from 'pg'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import { clientConfig, type PostgresSettings } from './pool.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000

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
