import pg from 'pg'
import { systemClock } from '../system/clock.ts'
import { clientConfig, type PostgresSettings } from './pool.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000

/**
 * Hears what the server tells of a channel, on a connection of its own that is made again whenever it is lost. Nobody
 * may depend on it: what is said while it is not there is lost, and behind some poolers it hears nothing at all.
 * @param heard the payload; undefined when the connection was made, since anything may have been missed
 */
export function listen(settings: PostgresSettings, channel: string, heard: (payload: string | undefined) => void) {
  const over = new AbortController()

  async function once(): Promise<void> {
    const client = new pg.Client(clientConfig({ ...settings, application: `${settings.application ?? 'penstock'} listen` }))
    // Also while it connects: a client that is ended then says nothing any more.
    const lost = new Promise<void>((resolve) => {
      client.on('error', () => resolve())
      client.on('end', () => resolve())
      over.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    client.on('notification', ({ payload }) => heard(payload ?? ''))
    const begin = async (): Promise<void> => {
      await client.connect()
      await client.query(`listen ${channel}`)
      heard(undefined)
      await lost
    }
    try {
      await Promise.race([begin(), lost])
    } finally {
      void client.end().catch(() => undefined)
    }
  }

  async function keep(): Promise<void> {
    for (let tries = 0; !over.signal.aborted; tries++) {
      const since = systemClock.monotonicMs()
      // What is wrong shows in every statement too; here it is only tried again.
      await once().catch(() => undefined)
      if (systemClock.monotonicMs() - since > LONGEST_WAIT_MS) tries = 0
      await systemClock.sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 8)), over.signal)
    }
  }

  const kept = keep()
  return {
    async close(): Promise<void> {
      over.abort()
      await kept
    },
  }
}
