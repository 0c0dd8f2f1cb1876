import {
  type AllStreamResolvedEvent,
  type KurrentDBClient,
  START,
  type SubscribeToAllOptions,
  streamNameFilter,
} from '@kurrent/kurrentdb-client'
import { Fault } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { toStreamPrefixes } from './event-reader.ts'
import { isForeign, toStored } from './records.ts'

/** The received events, possibly none, and the position up to which the server has searched the log. */
type ReceivedPage = { readonly events: readonly StoredEvent[]; readonly until: bigint }

const MAX_EVENTS = 256
/** Number of search windows, of 32 events each, between two checkpoints. */
const CHECKPOINT_WINDOWS = 10

/**
 * One subscription on the server. It does not reconnect after a break.
 * @param onConfirmed called when the server has confirmed the subscription; the server may still refuse the position afterwards
 */
export function subscribe(
  client: KurrentDBClient,
  categories: readonly string[],
  after: bigint | 'start',
  onConfirmed: () => void,
) {
  let wake = (): void => {}
  const ended: unknown[] = []
  const end = (why: unknown): void => {
    ended.push(why)
    wake()
  }
  const stream = client.subscribeToAll(
    { ...toSubscribeOptions(categories, after), requiresLeader: true },
    { highWaterMark: MAX_EVENTS },
  )
  stream
    .on('confirmation', onConfirmed)
    .on('error', end)
    .on('end', () => end(new Fault('the server ended the subscription')))
    .on('close', () => end(new Fault('the subscription was closed')))
    .on('readable', () => wake())

  function take(): ReceivedPage | undefined {
    const events: StoredEvent[] = []
    let until: bigint | undefined
    for (let count = 0; count < MAX_EVENTS; count++) {
      const next = stream.read() as AllStreamResolvedEvent | null // the type that the stream's own iterator yields
      if (next === null) break
      if (next.event && !isForeign(next)) events.push(toStored(next))
      until = next.event?.position.commit ?? next.commitPosition ?? until
    }
    return until === undefined ? undefined : { events, until }
  }

  return {
    /** Ends the wait of `next`. */
    wake: (): void => wake(),
    /** @returns undefined if nothing arrived before the timeout @throws the error that ended the subscription */
    async next(timeoutMs: number, signal: AbortSignal): Promise<ReceivedPage | undefined> {
      // Unread events are dropped after the end, because the next subscription requests them again.
      if (ended.length > 0) throw ended[0]
      const received = take()
      if (received || signal.aborted) return received
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, timeoutMs)
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
      stream.unsubscribe().catch(() => undefined) // the server may never have created it
      stream.destroy()
    },
  }
}

const toSubscribeOptions = (categories: readonly string[], after: bigint | 'start'): SubscribeToAllOptions => ({
  fromPosition: after === 'start' ? START : { commit: after, prepare: after },
  filter: streamNameFilter({
    prefixes: toStreamPrefixes(categories),
    checkpointInterval: CHECKPOINT_WINDOWS,
    // The checkpoint is pushed behind the unread events, because a direct callback would overtake them. EventStoreDB before
    // 24.10.5 (KDB-710) reports a negative position before it has searched any event.
    checkpointReached: (subscription, { commit }) => {
      if (BigInt.asIntN(64, commit) >= 0n) subscription.push({ commitPosition: commit })
    },
  }),
})
