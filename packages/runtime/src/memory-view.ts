import { contractOf } from '@penstock/contracts/all.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { backoff, throughFaults } from './backoff.ts'
import { eventOf } from './event-codec.ts'
import type { Log } from './log.ts'
import type { MemoryView } from './service.ts'
import { TooNew } from './upcast.ts'

const PAGE = 1000

export type FollowContext = { readonly store: EventStore; readonly clock: Clock; readonly log: Log }

/**
 * Makes a view in memory from the store and keeps it up, past the bus: every replica needs all of it.
 * It resolves when the view has read what the log holds now; afterwards it goes on from where it is after any fault.
 */
export async function followMemory(view: MemoryView, context: FollowContext, signal: AbortSignal): Promise<void> {
  const { store } = context
  const categories = view.from.map(({ category }) => category)
  let after: bigint | 'start' = 'start'
  const held = new Set<string>()
  const apply = (stored: StoredEvent): void => {
    if (!held.has(stored.stream)) applyKnown(stored)
    after = stored.position
  }
  function applyKnown(stored: StoredEvent): void {
    try {
      view.apply(eventOf(contractOf(categoryOf(stored.stream)), stored))
    } catch (error) {
      if (!(error instanceof TooNew)) throw error
      // Of this stream the view stays as it is; the next process reads everything anew.
      held.add(stored.stream)
      context.log.warn(
        { view: view.name, stream: stored.stream, reason: error.message },
        'a view in memory cannot read a stream on',
      )
    }
  }
  for (let more = true; more;) {
    const page = await throughFaults(context.clock, signal, () => store.readAll(after, PAGE, categories))
    page.forEach(apply)
    more = page.length > 0
  }
  void live()

  async function live(): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        for await (const batch of store.follow({ categories, after, signal })) {
          batch.forEach(apply)
          tries = 0
        }
        return
      } catch (error) {
        context.log.error({ view: view.name, reason: String(error) }, 'a view in memory fell behind; it goes on from where it is')
        await context.clock.sleep(backoff(tries, 200, 10_000), signal)
      }
    }
  }
}
