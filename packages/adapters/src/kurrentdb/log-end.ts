import { BACKWARDS, END, type ReadAllOptions } from '@kurrent/kurrentdb-client'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { KurrentConnection } from './connection.ts'
import { type KurrentReader, collect } from './event-reader.ts'
import { createBeyondEndBug } from './faults.ts'

const READ_LAST: ReadAllOptions = { fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true }

/** Finds the end of the leader's log, because a subscription beyond the end just waits without an error. */
export function createLogEnd({ call }: KurrentConnection, reader: Pick<KurrentReader, 'page'>) {
  /** @returns the position of the last event in the log, also of other writers; undefined if the log is empty */
  async function position(limitMs?: number): Promise<bigint | undefined> {
    const found = await call(
      'a read of the end of the log',
      (handle) => collect(handle.client.readAll({ ...READ_LAST, ...handle.reader })),
      undefined,
      limitMs,
    )
    return found[0]?.event?.position.commit
  }

  /**
   * @param seenPosition the position of a received event; not of a checkpoint, which may be the position of the next event
   * @throws Bug if the log ends before that position
   */
  async function assertReaches(seenPosition: bigint | 'start'): Promise<void> {
    if (seenPosition === 'start') return
    const last = await position()
    if (last === undefined || last < seenPosition) throw createBeyondEndBug(seenPosition, last)
  }

  return {
    position,
    assertReaches,
    /** Reads a page after a known event. @throws Bug if the store no longer has that event */
    async pageAfter(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
      const events = await reader.page(after, max, categories)
      if (events.length === 0 && max > 0 && categories?.length !== 0) await assertReaches(after)
      return events
    },
  }
}
export type KurrentLogEnd = ReturnType<typeof createLogEnd>
