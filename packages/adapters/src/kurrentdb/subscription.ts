import {
  type AllStreamResolvedEvent,
  type KurrentDBClient,
  START,
  type SubscribeToAllOptions,
  streamNameFilter,
} from '@kurrent/kurrentdb-client'
import { Fault } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { ofCategories } from './event-reader.ts'
import { isForeign, toStored } from './records.ts'

/** Events, or none, and how far the log was looked through for them. */
type Heard = { readonly events: readonly StoredEvent[]; readonly until: bigint }

const MOST = 256
/** A checkpoint after so many search windows of 32 events. */
const CHECKPOINT_WINDOWS = 10

/**
 * One subscription of the server's, until it breaks off. It does not come back by itself.
 * @param confirmed told when the server has taken it, which it also does at a position that it refuses afterwards
 */
export function subscribe(
  client: KurrentDBClient,
  categories: readonly string[],
  after: bigint | 'start',
  confirmed: () => void,
) {
  let wake = (): void => {}
  const ended: unknown[] = []
  const end = (why: unknown): void => {
    ended.push(why)
    wake()
  }
  const stream = client.subscribeToAll({ ...wanted(categories, after), requiresLeader: true }, { highWaterMark: MOST })
  stream
    .on('confirmation', confirmed)
    .on('error', end)
    .on('end', () => end(new Fault('the subscription was ended by the server')))
    .on('close', () => end(new Fault('the subscription was closed')))
    .on('readable', () => wake())

  function take(): Heard | undefined {
    const events: StoredEvent[] = []
    let until: bigint | undefined
    for (let count = 0; count < MOST; count++) {
      const next = stream.read() as AllStreamResolvedEvent | null // what the stream's own iterator gives
      if (next === null) break
      if (next.event && !isForeign(next)) events.push(toStored(next))
      until = next.event?.position.commit ?? next.commitPosition ?? until
    }
    return until === undefined ? undefined : { events, until }
  }

  return {
    /** Ends the wait for what comes next. */
    wake: (): void => wake(),
    /**
     * @returns undefined where nothing came for a while
     * @throws what ended it
     */
    async next(patienceMs: number, signal: AbortSignal): Promise<Heard | undefined> {
      // Events that wait are given up with it: whoever comes back asks for them again.
      if (ended.length > 0) throw ended[0]
      const heard = take()
      if (heard || signal.aborted) return heard
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, patienceMs)
        signal.addEventListener('abort', done, { once: true })
        wake = done
        function done(): void {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          wake = () => {}
          resolve()
        }
      })
      if (ended.length > 0) throw ended[0]
      return take()
    },
    close(): void {
      stream.unsubscribe().catch(() => undefined) // it may never have come about
      stream.destroy()
    },
  }
}

const wanted = (categories: readonly string[], after: bigint | 'start'): SubscribeToAllOptions => ({
  fromPosition: after === 'start' ? START : { commit: after, prepare: after },
  filter: streamNameFilter({
    prefixes: ofCategories(categories),
    checkpointInterval: CHECKPOINT_WINDOWS,
    // Into the line behind the events before it: by itself it would overtake those that nobody has taken yet.
    // EventStoreDB before 24.10.5 (KDB-710) tells a position below zero where it has looked at nothing yet.
    checkpointReached: (subscription, { commit }) => {
      if (BigInt.asIntN(64, commit) >= 0n) subscription.push({ commitPosition: commit })
    },
  }),
})
