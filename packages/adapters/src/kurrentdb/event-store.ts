import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { connection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'
import { eventAppender } from './event-appender.ts'
import { eventReader } from './event-reader.ts'
import { type FollowerSettings, follow } from './follower.ts'

export type KurrentStoreOptions = KurrentSettings &
  Partial<FollowerSettings> & {
    /** Longest that the server may take for an append or for a page of a read. */
    readonly timeoutMs?: number
  }

const TIMEOUT_MS = 5000
const QUIET_MS = 15_000

/**
 * Events in KurrentDB, or EventStoreDB from 22.6 on, for any number of processes.
 * @throws Error where the url cannot be used; a server that is not there is a fault of the first call
 */
export function kurrentEventStore(options: KurrentStoreOptions): EventStore {
  const { timeoutMs = TIMEOUT_MS, quietMs = QUIET_MS, onFault = () => undefined } = options
  const server = connection(options, timeoutMs)
  const reader = eventReader(server)
  const appender = eventAppender(server, reader)
  const over = new AbortController()
  const checkOpen = (): void => {
    if (over.signal.aborted) throw new Fault('the event store is closed')
  }

  return {
    async append(stream, expected, events) {
      checkOpen()
      return appender.append(stream, expected, events)
    },
    async read(stream, from = 0, max) {
      checkOpen()
      return reader.read(stream, from, max)
    },
    async readAll(after, max, categories) {
      checkOpen()
      return reader.page(after, max, categories)
    },
    follow(wanted) {
      checkOpen()
      const signal = AbortSignal.any([wanted.signal, over.signal])
      return follow({ connection: server, reader, settings: { quietMs, onFault } }, { ...wanted, signal })
    },
    async close() {
      if (over.signal.aborted) return
      over.abort()
      await appender.idle()
      await server.close()
    },
  }
}
