import type { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { assembleServerStore } from '../shared/server-event-store.ts'
import { openConnection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'
import { createKurrentAppender } from './event-appender.ts'
import { createKurrentReader } from './event-reader.ts'
import { type FollowerSettings, followLog } from './follower.ts'
import { createLogEnd } from './log-end.ts'
import { createLogWatch } from './log-watch.ts'

export type KurrentStoreOptions = KurrentSettings &
  Partial<Pick<FollowerSettings, 'quietMs' | 'sweepMs'>> & {
    /** Called once per outage in which followers cannot continue, regardless of their number and their retries. */
    readonly onFault?: (fault: Fault) => void
    /** Called when followers can continue. */
    readonly onRecovered?: () => void
    /** Timeout in ms of an append, and of a page of a read. */
    readonly timeoutMs?: number
  }

const TIMEOUT_MS = 5000
const QUIET_MS = 15_000
const SWEEP_MS = 30_000

/**
 * Stores events in KurrentDB, or in EventStoreDB from 22.6 on, for any number of processes.
 * @throws Error if the url is invalid; an unreachable server is a Fault of the first call
 */
export function kurrentEventStore(options: KurrentStoreOptions): EventStore {
  const { timeoutMs = TIMEOUT_MS, quietMs = QUIET_MS, sweepMs = SWEEP_MS } = options
  const server = openConnection(options, timeoutMs)
  const reader = createKurrentReader(server)
  const appender = createKurrentAppender(server, reader)
  const closed = new AbortController()
  const settings = { quietMs, sweepMs, ...createOutageReporter(options) }
  const end = createLogEnd(server, reader)
  const watch = createLogWatch(end, closed.signal)
  return assembleServerStore(
    {
      appender,
      reader: { read: (...args) => reader.read(...args), page: (...args) => end.pageAfter(...args) },
      follow: (followOptions) =>
        followLog(
          { connection: server, reader, end, watch, settings },
          { ...followOptions, signal: AbortSignal.any([followOptions.signal, closed.signal]) },
        ),
      disconnect: () => server.close(),
    },
    closed,
  )
}

/** Reports an outage once for all followers of a store: its first fault, and its end. */
function createOutageReporter({ onFault, onRecovered }: KurrentStoreOptions): Pick<FollowerSettings, 'onFault' | 'onConfirmed'> {
  let isAway = false
  return {
    onFault(fault) {
      if (!isAway) onFault?.(fault)
      isAway = true
    },
    onConfirmed() {
      if (isAway) onRecovered?.()
      isAway = false
    },
  }
}
