import { KurrentDBClient, UnavailableError } from '@kurrent/kurrentdb-client'
import { Fault } from '@penstock/kernel/result.ts'
import { systemClock } from '../system/clock.ts'
import { type Credentials, connectionString, type KurrentSettings } from './connection-string.ts'
import { asFault, hasText, isElsewhere } from './faults.ts'
import { mended } from './mends.ts'
import { whyUnavailable } from './why-unavailable.ts'
import { within } from './within.ts'

type Line = {
  readonly client: KurrentDBClient
  /** Goes with every read. */
  readonly reader: { readonly credentials?: Credentials }
  /** Its hosts, without credentials. */
  readonly server: string
  readonly since: number
}

/** Protected in the types only. */
type Channelled = { getChannel(): Promise<{ getTarget(): string }> }

const RENEW_EVERY_MS = 1000

/**
 * Keeps the client in use. A fault replaces it, since the client does not recover from all faults by itself. Its reading
 * half gives up for ever after a connection that failed. Its writing half keeps promises that never settle when a server
 * is silent. Both keep the password that they were given. Other calls under way may end on the old client.
 */
export function connection(settings: KurrentSettings, timeoutMs: number) {
  function open(avoided?: string): Line {
    const { text, server, ...reader } = connectionString(settings, avoided)
    return { client: mended(KurrentDBClient.connectionString(text)), reader, server, since: systemClock.monotonicMs() }
  }
  const over = new AbortController()
  const changes = listeners()
  let current = open()
  const all = new Set([current.client])

  async function disposeLater(old: KurrentDBClient): Promise<void> {
    await systemClock.sleep(timeoutMs, over.signal)
    all.delete(old)
    await old.dispose()
  }

  /** @param isSilent whether its node answers nothing, so that another one may lead by now */
  async function renew(broken: Line, isSilent = false): Promise<void> {
    const avoided = isSilent ? await targetOf(broken) : undefined
    if (broken !== current || over.signal.aborted || systemClock.monotonicMs() - broken.since < RENEW_EVERY_MS) return
    // This reads the files of the settings again, and they may be gone.
    try {
      current = open(avoided)
    } catch (error) {
      throw asFault(error, { method: 'a new connection', server: broken.server })
    }
    all.add(current.client)
    void disposeLater(broken.client)
    changes.tell()
  }

  return {
    /**
     * @param method names the call in the fault
     * @param isAnswer says which of the client's own errors are thrown as they are
     * @throws Fault or Bug, or the client's own error where `isAnswer` says so
     */
    call: async <T>(
      method: string,
      work: (line: Line) => Promise<T>,
      isAnswer: (error: unknown) => boolean = () => false,
      limitMs = timeoutMs,
    ): Promise<T> => {
      const line = current
      try {
        return await within(limitMs, { method, server: line.server }, work(line))
      } catch (error) {
        if (isAnswer(error)) throw error
        const fault = await explained(error, method, line)
        if (isElsewhere(fault)) changes.tell()
        else if (fault instanceof Fault) await renew(line, error instanceof Fault)
        throw fault
      }
    },
    line: (): Line => current,
    renew,
    explained,
    /** Calls back when the client is replaced, or another node leads: waiting callers ask again. @returns what ends it */
    onChange: (told: () => void): (() => void) => changes.add(told),
    async close(): Promise<void> {
      over.abort()
      await Promise.all([...all].map((client) => client.dispose()))
    },
  }
}
export type Connection = ReturnType<typeof connection>

/** @returns a Fault or Bug, with its cause as far as it is known */
async function explained(error: unknown, method: string, { client, server }: Line): Promise<unknown> {
  const isDumb = error instanceof UnavailableError && !hasText(error)
  return asFault(error, { method, server }, isDumb ? await whyUnavailable(client, server) : undefined)
}

function listeners() {
  const all = new Set<() => void>()
  return {
    tell: (): void => all.forEach((told) => told()),
    add(told: () => void): () => void {
      all.add(told)
      return () => all.delete(told)
    },
  }
}

const TARGET_MS = 50

/** `host:port` of the node that a client writes to; undefined while it looks for one. */
async function targetOf({ client, server }: Line): Promise<string | undefined> {
  const target = (client as unknown as Channelled).getChannel().then((channel) => channel.getTarget())
  return within(TARGET_MS, { method: 'its target', server }, target).then(
    (text) => text.replace(/^dns:(\/\/\/)?/, ''),
    () => undefined,
  )
}
