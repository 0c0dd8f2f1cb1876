import { KurrentDBClient, UnavailableError } from '@kurrent/kurrentdb-client'
import { Fault } from '@penstock/kernel/result.ts'
import { systemClock } from '../system/clock.ts'
import { type Credentials, buildConnectionString, type KurrentSettings } from './connection-string.ts'
import { toKurrentFault, hasText, isNotLeader } from './faults.ts'
import { patchClient } from './client-patches.ts'
import { explainUnavailable } from './explain-unavailable.ts'
import { withKurrentTimeout } from './timeout.ts'

type ClientHandle = {
  readonly client: KurrentDBClient
  /** Options for every read. */
  readonly reader: { readonly credentials?: Credentials }
  /** The hosts of the server, without credentials. */
  readonly server: string
  readonly since: number
}

/** The client has this method, but its type declares it protected. */
type WithChannel = { getChannel(): Promise<{ getTarget(): string }> }

const RENEW_EVERY_MS = 1000

/**
 * Holds the current client, and replaces it after a fault, because the client cannot recover from every fault. Its reading half
 * stays broken after a failed connection. Its writing half leaves promises pending if a server is silent. Neither half reads a
 * new password. Calls in progress end on the old client, which is disposed after the timeout.
 */
export function openConnection(settings: KurrentSettings, timeoutMs: number) {
  function open(avoidedHost?: string): ClientHandle {
    const { text, server, ...reader } = buildConnectionString(settings, avoidedHost)
    return { client: patchClient(KurrentDBClient.connectionString(text)), reader, server, since: systemClock.monotonicMs() }
  }
  const closed = new AbortController()
  const changeListeners = createListeners()
  let current = open()
  const all = new Set([current.client])

  async function disposeLater(old: KurrentDBClient): Promise<void> {
    await systemClock.sleep(timeoutMs, closed.signal)
    all.delete(old)
    await old.dispose()
  }

  /** @param isSilent whether the node does not answer; the new client then avoids it, because another node may be the leader */
  async function renew(brokenHandle: ClientHandle, isSilent = false): Promise<void> {
    const avoidedHost = isSilent ? await targetOf(brokenHandle) : undefined
    if (brokenHandle !== current || closed.signal.aborted || systemClock.monotonicMs() - brokenHandle.since < RENEW_EVERY_MS)
      return
    // `open` reads the files of the settings again, and a file may be missing.
    try {
      current = open(avoidedHost)
    } catch (error) {
      throw toKurrentFault(error, { method: 'a new connection', server: brokenHandle.server })
    }
    all.add(current.client)
    void disposeLater(brokenHandle.client)
    changeListeners.notify()
  }

  return {
    /**
     * @param method names the call in the fault
     * @param isAnswer accepts those errors of the client that are thrown unchanged
     * @throws Fault or Bug, or the client's own error if `isAnswer` accepts it
     */
    call: async <T>(
      method: string,
      action: (handle: ClientHandle) => Promise<T>,
      isAnswer: (error: unknown) => boolean = () => false,
      limitMs = timeoutMs,
    ): Promise<T> => {
      const handle = current
      try {
        return await withKurrentTimeout(limitMs, { method, server: handle.server }, action(handle))
      } catch (error) {
        if (isAnswer(error)) throw error
        const fault = await explainError(error, method, handle)
        if (isNotLeader(fault)) changeListeners.notify()
        else if (fault instanceof Fault) await renew(handle, error instanceof Fault)
        throw fault
      }
    },
    handle: (): ClientHandle => current,
    renew,
    explainError,
    /** Registers a listener for a new client or leader, so that waiting callers retry. @returns a function that removes it */
    onChange: (listener: () => void): (() => void) => changeListeners.add(listener),
    async close(): Promise<void> {
      closed.abort()
      await Promise.all([...all].map((client) => client.dispose()))
    },
  }
}
export type KurrentConnection = ReturnType<typeof openConnection>

/** @returns a Fault or Bug, with its cause if the cause is known */
async function explainError(error: unknown, method: string, { client, server }: ClientHandle): Promise<unknown> {
  const hasNoReason = error instanceof UnavailableError && !hasText(error)
  return toKurrentFault(error, { method, server }, hasNoReason ? await explainUnavailable(client, server) : undefined)
}

function createListeners() {
  const all = new Set<() => void>()
  return {
    notify: (): void => all.forEach((listener) => listener()),
    add(listener: () => void): () => void {
      all.add(listener)
      return () => all.delete(listener)
    },
  }
}

const TARGET_TIMEOUT_MS = 50

/** @returns `host:port` of the node that the client writes to; undefined while the client searches for one */
async function targetOf({ client, server }: ClientHandle): Promise<string | undefined> {
  const target = (client as unknown as WithChannel).getChannel().then((channel) => channel.getTarget())
  return withKurrentTimeout(TARGET_TIMEOUT_MS, { method: 'its target', server }, target).then(
    (text) => text.replace(/^dns:(\/\/\/)?/, ''),
    () => undefined,
  )
}
