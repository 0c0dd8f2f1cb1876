import { Fault } from '@penstock/kernel/result.ts'
import type { FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'
import { systemClock } from '../system/clock.ts'
import type { Connection } from './connection.ts'
import type { EventReader } from './event-reader.ts'
import { asFault } from './faults.ts'
import { subscribe } from './subscription.ts'

export type FollowerSettings = {
  /** How long a subscription may say nothing before the log itself is asked. */
  readonly quietMs: number
  /** Told whenever a follower could not go on; it comes back by itself. */
  readonly onFault: (fault: Fault) => void
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000

/** Goes on through restarts of the server, dropped and silent subscriptions, from where it was. */
export async function* follow(
  { connection, reader, settings }: { connection: Connection; reader: EventReader; settings: FollowerSettings },
  { categories, after, signal }: FollowOptions,
): AsyncGenerator<readonly StoredEvent[]> {
  let position = after
  for (let tries = 0; !signal.aborted; tries++) {
    const line = connection.line()
    const subscription = subscribe(line.client, categories, position)
    try {
      while (!signal.aborted) {
        const heard = await subscription.next(settings.quietMs, signal)
        if (heard) {
          position = heard.until
          tries = 0
          if (heard.events.length > 0) yield heard.events
        } else if (!signal.aborted && (await reader.page(position, 1, categories)).length > 0) {
          connection.renew(line)
          throw new Fault('a subscription says nothing of events that are there')
        }
      }
    } catch (error) {
      if (signal.aborted) return
      const fault = asFault(error)
      if (!(fault instanceof Fault)) throw fault
      settings.onFault(fault)
    } finally {
      subscription.close()
    }
    await systemClock.sleep(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 8)), signal)
  }
}
