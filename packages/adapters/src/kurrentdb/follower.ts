import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { systemClock } from '../system/clock.ts'
import type { Connection } from './connection.ts'
import type { EventReader } from './event-reader.ts'
import type { LogEnd } from './log-end.ts'
import type { LogWatch } from './log-watch.ts'
import { subscribe } from './subscription.ts'

export type FollowerSettings = {
  /** How long a subscription may say nothing before the log itself is asked. */
  readonly quietMs: number
  /** How often the log is asked, although the subscription talks: what it tells need not be all that is there. */
  readonly sweepMs: number
  /** Told whenever a follower could not go on; it comes back by itself. */
  readonly onFault: (fault: Fault) => void
  /** Told when one has heard of the server. */
  readonly onHeard: () => void
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1000

type Sources = {
  readonly connection: Connection
  readonly reader: EventReader
  readonly end: LogEnd
  readonly watch: LogWatch
  readonly settings: FollowerSettings
}

/**
 * Goes on through restarts of the server, changes of its leader, dropped and silent subscriptions, from where it was.
 * @throws Bug where the server does not have the event at `after` any more
 */
export async function* follow(
  { connection, reader, end, watch, settings }: Sources,
  { categories, after, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEvent[]> {
  let position = after
  /** The last event of all that were seen: the log cannot end before it. */
  let newest = after
  const sweep = sweeper(reader, categories, after, settings.sweepMs)
  for (let tries = 0; !signal.aborted; tries++) {
    const line = connection.line()
    const subscription = subscribe(line.client, categories, position, settings.onHeard)
    const news = watchFor({ connection, watch }, () => subscription.wake())
    try {
      news.note(end.mustReach(newest))
      while (!signal.aborted && !news.isReplaced()) {
        const heard = await subscription.next(settings.quietMs, signal)
        news.check()
        if (heard) {
          position = heard.until
          newest = heard.events.at(-1)?.position ?? newest
          tries = 0
          sweep.told(heard.events)
          news.hear()
          if (heard.events.length > 0) yield heard.events
        }
        if (signal.aborted || news.isReplaced()) break
        const missed = await sweep.missed(position, news.behind() ?? (heard ? 'talks' : 'quiet'))
        if (missed !== undefined) {
          position = missed
          await connection.renew(line, true)
          throw new Fault(`KurrentDB at ${line.server} says nothing to a subscription of events that are there`)
        }
      }
    } catch (error) {
      if (signal.aborted) return
      const fault = await connection.explained(error, 'a subscription', line)
      if (!(fault instanceof Fault)) throw fault
      settings.onFault(fault)
    } finally {
      news.end()
      subscription.close()
    }
    if (news.isReplaced()) tries = 0
    else await systemClock.sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 8)), signal)
  }
}

/** What a follower has to know beside its subscription; each piece of news wakes it. */
function watchFor({ connection, watch }: Pick<Sources, 'connection' | 'watch'>, wake: () => void) {
  let isReplaced = false
  let hasHeard = false
  let behind: bigint | undefined
  let wrong: Bug | undefined
  const forget = connection.onChange(() => {
    isReplaced = true
    wake()
  })
  const leave = watch.join((end) => {
    if (!hasHeard) {
      behind = end
      wake()
    }
    hasHeard = false
  })
  return {
    /** A question beside the subscription: its bug ends the follower, a fault of it shows elsewhere too. */
    note(question: Promise<void>): void {
      question.catch((error: unknown) => {
        if (!(error instanceof Bug)) return
        wrong = error
        wake()
      })
    },
    /** @throws what was wrong with a question */
    check(): void {
      if (wrong) throw wrong
    },
    hear(): void {
      hasHeard = true
      behind = undefined
    },
    isReplaced: () => isReplaced,
    /** @returns the end of a log that has gone on while nothing was heard, once */
    behind(): bigint | undefined {
      const end = behind
      behind = undefined
      return end
    },
    end(): void {
      forget()
      leave()
    },
  }
}

/**
 * Compares what a subscription has told with what is in the log: at once where it is quiet, else now and then, since
 * checkpoints alone may go past events. One that is left out between two others that are told is not found.
 */
function sweeper(reader: EventReader, categories: readonly string[], after: bigint | 'start', sweepMs: number) {
  let lookedAtMs = performance.now()
  /** Up to here nothing was left out. */
  let sure = after
  /** Was there at the last look, and might have been on its way. */
  let awaited: bigint | undefined
  return {
    told(events: readonly StoredEvent[]): void {
      sure = events.at(-1)?.position ?? sure
    },
    /**
     * @param state of the subscription; or where the log ended a moment ago, which went on while nothing was heard
     * @returns from where to follow anew, where an event is there that the subscription should have told of
     */
    async missed(position: bigint | 'start', state: 'quiet' | 'talks' | bigint): Promise<bigint | 'start' | undefined> {
      if (state === 'talks' && performance.now() - lookedAtMs < sweepMs) return undefined
      if (typeof state === 'bigint' && later(sure, state) === sure) return undefined
      lookedAtMs = performance.now()
      const [next] = await reader.page(sure, 1, categories)
      const isPassed = next !== undefined && position !== 'start' && next.position <= position
      const isOverdue = next !== undefined && (state === 'quiet' || next.position === awaited)
      awaited = next?.position
      if (isPassed || isOverdue) return sure
      sure = later(sure, position)
      if (next === undefined && typeof state === 'bigint') sure = later(sure, state)
      return undefined
    },
  }
}

const later = (one: bigint | 'start', other: bigint | 'start'): bigint | 'start' =>
  one === 'start' || (other !== 'start' && other > one) ? other : one
