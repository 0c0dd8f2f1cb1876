import type { EventStore } from '@penstock/ports/event-store.ts'
import { openStore } from '../shared/open-store.ts'
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
  return openStore(
    {
      appender,
      reader,
      follow: (wanted) =>
        follow(
          { connection: server, reader, settings: { quietMs, onFault } },
          { ...wanted, signal: AbortSignal.any([wanted.signal, over.signal]) },
        ),
      disconnect: () => server.close(),
    },
    over,
  )
}
