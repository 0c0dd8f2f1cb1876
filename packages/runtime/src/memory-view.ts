import { contractOf } from '@penstock/contracts/all.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { eventOf } from './event-codec.ts'
import type { Log } from './log.ts'
import type { MemoryView } from './service.ts'

const PAGE = 1000

/**
 * Makes a view in memory from the store and keeps it up, past the bus: every replica needs all of it.
 * It resolves when the view has read what the log holds now.
 */
export async function followMemory(view: MemoryView, { store, log }: { store: EventStore; log: Log }, signal: AbortSignal): Promise<void> {
  const categories = view.from.map(({ category }) => category)
  const apply = (stored: StoredEvent): void => view.apply(eventOf(contractOf(categoryOf(stored.stream)), stored))
  let after: bigint | 'start' = 'start'
  for (;;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE, categories)
    page.forEach(apply)
    const last = page.at(-1)
    if (!last) break
    after = last.position
  }
  void live(after).catch((error: unknown) => log.error({ view: view.name, reason: String(error) }, 'a view in memory stopped following'))

  async function live(from: bigint | 'start'): Promise<void> {
    for await (const batch of store.follow({ categories, after: from, signal })) batch.forEach(apply)
  }
}
