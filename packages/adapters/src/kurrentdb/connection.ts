import { KurrentDBClient } from '@kurrent/kurrentdb-client'
import { Fault } from '@penstock/kernel/result.ts'
import { systemClock } from '../system/clock.ts'
import { type Credentials, connectionString, type KurrentSettings } from './connection-string.ts'
import { asFault, isElsewhere } from './faults.ts'
import { mended } from './mends.ts'
import { within } from './within.ts'

type Line = {
  readonly client: KurrentDBClient
  /** Goes with every read. */
  readonly reader: { readonly credentials?: Credentials }
  readonly since: number
}

const RENEW_EVERY_MS = 1000

/**
 * The client in use. After a fault it is replaced, since it does not come back from all of them by itself: the half
 * that reads gives up for ever once a connection could not be made, the half that writes keeps promises that never
 * settle when a server says nothing, and both keep the password that they were given. Calls of others that are under
 * way may end on the old one.
 */
export function connection(settings: KurrentSettings, timeoutMs: number) {
  function open(): Line {
    const { text, ...reader } = connectionString(settings)
    return { client: mended(KurrentDBClient.connectionString(text)), reader, since: systemClock.now() }
  }
  const over = new AbortController()
  let current = open()
  const all = new Set([current.client])

  async function disposeLater(old: KurrentDBClient): Promise<void> {
    await systemClock.sleep(timeoutMs, over.signal)
    all.delete(old)
    await old.dispose()
  }

  function renew(broken: Line): void {
    if (broken !== current || over.signal.aborted || systemClock.now() - broken.since < RENEW_EVERY_MS) return
    // Its files are read again, and may be gone.
    try {
      current = open()
    } catch (error) {
      throw asFault(error)
    }
    all.add(current.client)
    void disposeLater(broken.client)
  }

  return {
    /**
     * @param what names the call in the fault
     * @throws Fault or Bug, or the client's own error where `isAnswer` says so
     */
    call: async <T>(
      what: string,
      work: (line: Line) => Promise<T>,
      isAnswer: (error: unknown) => boolean = () => false,
    ): Promise<T> => {
      const line = current
      try {
        return await within(timeoutMs, what, work(line))
      } catch (error) {
        if (isAnswer(error)) throw error
        const fault = asFault(error)
        if (fault instanceof Fault && !isElsewhere(fault)) renew(line)
        throw fault
      }
    },
    line: (): Line => current,
    renew,
    async close(): Promise<void> {
      over.abort()
      await Promise.all([...all].map((client) => client.dispose()))
    },
  }
}
export type Connection = ReturnType<typeof connection>
