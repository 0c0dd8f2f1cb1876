import { contractOf } from '@penstock/contracts/contracts.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import { type RetryPorts, retryFaults } from '../retry.ts'
import { readEvent } from '../commands/event-codec.ts'
import type { Logger } from '../observability/log.ts'
import type { MemoryView } from '../service.ts'
import { NewerVersionFault } from '../commands/upcast.ts'

const PAGE = 1000

export type MemoryViewContext = RetryPorts & { readonly store: EventStore; readonly log: Logger }

/**
 * Builds a view in memory from the store and updates it without the bus, because every replica needs all facts. The call
 * resolves when the view has read the present log. After a fault the view continues from its position.
 */
export async function followMemoryView(view: MemoryView, context: MemoryViewContext, signal: AbortSignal): Promise<void> {
  const { store } = context
  const categories = view.from.map(({ category }) => category)
  let after: bigint | 'start' = 'start'
  const frozen = new Set<string>()
  const apply = (stored: StoredEvent): void => {
    if (!frozen.has(stored.stream)) applyReadable(stored)
    after = stored.position
  }
  function applyReadable(stored: StoredEvent): void {
    try {
      view.apply(readEvent(contractOf(categoryOf(stored.stream)), stored))
    } catch (error) {
      if (!(error instanceof NewerVersionFault)) throw error
      // The view ignores the rest of this stream. The next process builds the whole view again.
      frozen.add(stored.stream)
      context.log.warn(
        { view: view.name, stream: stored.stream, reason: error.message },
        'a memory view cannot read a fact; ignoring the rest of its stream',
      )
    }
  }
  for (let more = true; more;) {
    const page = await retryFaults(context, signal, () => store.readAll(after, PAGE, categories))
    page.forEach(apply)
    more = page.length > 0
  }
  void followLive()

  async function followLive(): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        for await (const batch of store.follow({ categories, after, signal })) {
          batch.forEach(apply)
          tries = 0
        }
        return
      } catch (error) {
        context.log.error({ view: view.name, reason: String(error) }, 'following facts for a memory view failed; retrying')
        await context.clock.sleep(computeBackoffMs(tries, context.ids, 200, 10_000), signal)
      }
    }
  }
}
