import type { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { openStore } from '../shared/open-store.ts'
import { connection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'
import { eventAppender } from './event-appender.ts'
import { eventReader } from './event-reader.ts'
import { type FollowerSettings, follow } from './follower.ts'
import { logEnd } from './log-end.ts'
import { logWatch } from './log-watch.ts'

export type KurrentStoreOptions = KurrentSettings &
  Partial<Pick<FollowerSettings, 'quietMs' | 'sweepMs'>> & {
    /** Told once when followers cannot go on, however many there are and however often they try. */
    readonly onFault?: (fault: Fault) => void
    /** Told when they go on again. */
    readonly onRecovered?: () => void
    /** Longest that the server may take for an append or for a page of a read. */
    readonly timeoutMs?: number
  }

const TIMEOUT_MS = 5000
const QUIET_MS = 15_000
const SWEEP_MS = 30_000

/**
 * Events in KurrentDB, or EventStoreDB from 22.6 on, for any number of processes.
 * @throws Error where the url cannot be used; a server that is not there is a fault of the first call
 */
export function kurrentEventStore(options: KurrentStoreOptions): EventStore {
  const { timeoutMs = TIMEOUT_MS, quietMs = QUIET_MS, sweepMs = SWEEP_MS } = options
  const server = connection(options, timeoutMs)
  const reader = eventReader(server)
  const appender = eventAppender(server, reader)
  const over = new AbortController()
  const settings = { quietMs, sweepMs, ...outageOf(options) }
  const end = logEnd(server, reader)
  const watch = logWatch(end, over.signal)
  return openStore(
    {
      appender,
      reader: { read: (...asked) => reader.read(...asked), page: (...asked) => end.pageAfter(...asked) },
      follow: (wanted) =>
        follow(
          { connection: server, reader, end, watch, settings },
          { ...wanted, signal: AbortSignal.any([wanted.signal, over.signal]) },
        ),
      disconnect: () => server.close(),
    },
    over,
  )
}

/** All followers of a store share one outage: its first fault is told, and its end. */
function outageOf({ onFault, onRecovered }: KurrentStoreOptions): Pick<FollowerSettings, 'onFault' | 'onHeard'> {
  let isAway = false
  return {
    onFault(fault) {
      if (!isAway) onFault?.(fault)
      isAway = true
    },
    onHeard() {
      if (isAway) onRecovered?.()
      isAway = false
    },
  }
}
