import { BACKWARDS, END, type ReadAllOptions } from '@kurrent/kurrentdb-client'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Connection } from './connection.ts'
import { type EventReader, gather } from './event-reader.ts'
import { beyondEnd } from './faults.ts'

const LAST: ReadAllOptions = { fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true }

/** Where the leader's log ends: a server says nothing of a position that its log has not reached, and waits for it. */
export function logEnd({ call }: Connection, reader: Pick<EventReader, 'page'>) {
  /** @returns the position of the log's last event, of whomever; undefined where it has none */
  async function position(limitMs?: number): Promise<bigint | undefined> {
    const found = await call(
      'a look at the end of the log',
      (line) => gather(line.client.readAll({ ...LAST, ...line.reader })),
      undefined,
      limitMs,
    )
    return found[0]?.event?.position.commit
  }

  /**
   * @param seen position of an event, and of no checkpoint, which may be where the next event comes
   * @throws Bug where the log ends before it
   */
  async function mustReach(seen: bigint | 'start'): Promise<void> {
    if (seen === 'start') return
    const last = await position()
    if (last === undefined || last < seen) throw beyondEnd(seen, last)
  }

  return {
    position,
    mustReach,
    /** A page after an event that was seen. @throws Bug where the store does not have that event any more */
    async pageAfter(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
      const events = await reader.page(after, max, categories)
      if (events.length === 0 && max > 0 && categories?.length !== 0) await mustReach(after)
      return events
    },
  }
}
export type LogEnd = ReturnType<typeof logEnd>
