import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import type { KurrentConnection } from './connection.ts'
import type { KurrentReader } from './event-reader.ts'
import type { KurrentLogEnd } from './log-end.ts'
import type { LogWatch } from './log-watch.ts'
import { subscribe } from './subscription.ts'

export type FollowerSettings = {
  /** Milliseconds that a subscription may be silent before the follower reads the log. */
  readonly quietMs: number
  /** Milliseconds between two reads of the log while the subscription delivers, because it may omit events. */
  readonly sweepMs: number
  /** Called whenever a follower is interrupted. The follower resumes by itself. */
  readonly onFault: (fault: Fault) => void
  /** Called when the server has confirmed a subscription. */
  readonly onConfirmed: () => void
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1000

type FollowerSources = {
  readonly connection: KurrentConnection
  readonly reader: KurrentReader
  readonly end: KurrentLogEnd
  readonly watch: LogWatch
  readonly settings: FollowerSettings
}

/** Follows the log from its last position through server restarts, leader changes, and dropped or silent subscriptions. */
export async function* followLog(
  { connection, reader, end, watch, settings }: FollowerSources,
  { categories, after, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEvent[]> {
  let position = after
  /** The position of the last received event. A log that ends before it has lost events. */
  let newestPosition = after
  const sweep = createSweeper(reader, categories, after, settings.sweepMs)
  for (let tries = 0; !signal.aborted; tries++) {
    const handle = connection.handle()
    const subscription = subscribe(handle.client, categories, position, settings.onConfirmed)
    const connectionWatch = watchConnection({ connection, watch }, () => subscription.wake())
    try {
      connectionWatch.watchCheck(end.assertReaches(newestPosition))
      while (!signal.aborted && !connectionWatch.isReplaced()) {
        const received = await subscription.next(settings.quietMs, signal)
        connectionWatch.throwIfFailed()
        if (received) {
          position = received.until
          newestPosition = received.events.at(-1)?.position ?? newestPosition
          tries = 0
          sweep.recordReceived(received.events)
          connectionWatch.recordReceived()
          if (received.events.length > 0) yield received.events
        }
        if (signal.aborted || connectionWatch.isReplaced()) break
        const missedFrom = await sweep.findMissed(position, connectionWatch.behind() ?? (received ? 'talks' : 'quiet'))
        if (missedFrom !== undefined) {
          position = missedFrom
          await connection.renew(handle, true)
          throw new Fault(`KurrentDB at ${handle.server} did not deliver events of the log to a subscription`)
        }
      }
    } catch (error) {
      if (signal.aborted) return
      const fault = await connection.explainError(error, 'a subscription', handle)
      if (!(fault instanceof Fault)) throw fault
      settings.onFault(fault)
    } finally {
      connectionWatch.end()
      subscription.close()
    }
    if (connectionWatch.isReplaced()) tries = 0
    else await systemClock.sleep(computeBackoffMs(tries, systemChance, FIRST_WAIT_MS, LONGEST_WAIT_MS), signal)
  }
}

/** Watches the connection and the log for a follower. Each change wakes the follower. */
function watchConnection({ connection, watch }: Pick<FollowerSources, 'connection' | 'watch'>, wake: () => void) {
  let isReplaced = false
  let hasReceived = false
  let behind: bigint | undefined
  let failure: Bug | undefined
  const unsubscribe = connection.onChange(() => {
    isReplaced = true
    wake()
  })
  const leaveWatch = watch.join((end) => {
    if (!hasReceived) {
      behind = end
      wake()
    }
    hasReceived = false
  })
  return {
    /** Observes a check. A Bug of the check ends the follower; a Fault is ignored, because other calls report it too. */
    watchCheck(check: Promise<void>): void {
      check.catch((error: unknown) => {
        if (!(error instanceof Bug)) return
        failure = error
        wake()
      })
    },
    /** @throws Bug if a check has found one */
    throwIfFailed(): void {
      if (failure) throw failure
    },
    recordReceived(): void {
      hasReceived = true
      behind = undefined
    },
    isReplaced: () => isReplaced,
    /** Takes the end of the log, if the log has grown while the subscription was silent. @returns undefined otherwise */
    behind(): bigint | undefined {
      const end = behind
      behind = undefined
      return end
    },
    end(): void {
      unsubscribe()
      leaveWatch()
    },
  }
}

/**
 * Finds events that a subscription has omitted, by reading the log: at once if the subscription is silent, otherwise at
 * intervals. A checkpoint may pass an event that was not delivered. An omitted event between two delivered events is not found.
 */
function createSweeper(reader: KurrentReader, categories: readonly string[], after: bigint | 'start', sweepMs: number) {
  let lastCheckMs = performance.now()
  /** The subscription has omitted no event up to here. */
  let completeUpTo = after
  /** Position of the next event at the last check. The event may have been in transit then. */
  let expectedPosition: bigint | undefined
  return {
    recordReceived(events: readonly StoredEvent[]): void {
      completeUpTo = events.at(-1)?.position ?? completeUpTo
    },
    /**
     * @param state of the subscription; or the end of the log, if the log grew while the subscription was silent
     * @returns the position from which to follow again, if the subscription has omitted an event
     */
    async findMissed(position: bigint | 'start', state: 'quiet' | 'talks' | bigint): Promise<bigint | 'start' | undefined> {
      if (state === 'talks' && performance.now() - lastCheckMs < sweepMs) return undefined
      if (typeof state === 'bigint' && laterPosition(completeUpTo, state) === completeUpTo) return undefined
      lastCheckMs = performance.now()
      const [next] = await reader.page(completeUpTo, 1, categories)
      const isPassed = next !== undefined && position !== 'start' && next.position <= position
      const isOverdue = next !== undefined && (state === 'quiet' || next.position === expectedPosition)
      expectedPosition = next?.position
      if (isPassed || isOverdue) return completeUpTo
      completeUpTo = laterPosition(completeUpTo, position)
      if (next === undefined && typeof state === 'bigint') completeUpTo = laterPosition(completeUpTo, state)
      return undefined
    },
  }
}

const laterPosition = (one: bigint | 'start', other: bigint | 'start'): bigint | 'start' =>
  one === 'start' || (other !== 'start' && other > one) ? other : one
