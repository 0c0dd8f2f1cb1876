import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { runWorkerProcess } from '@penstock/child-processes/run-script.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { EventStoreFixture } from '@penstock/ports/event-store.contract.ts'

const child = new URL('./event-store.child.ts', import.meta.url)

/** Creates the contract suite's fixture for one server. @param prefix begins its categories, so that tests can share a server */
export function createKurrentFixture(url: string, onTeardown: () => Promise<void>, prefix = ''): EventStoreFixture {
  let store: EventStore | undefined
  const open = async (): Promise<EventStore> => {
    store = kurrentEventStore({ url })
    return prefix === '' ? store : withNamespace(store, prefix)
  }
  return {
    open,
    async reopen() {
      await store?.close()
      return open()
    },
    crash: (moment, stream, ...append) =>
      runWorkerProcess(child, { url, moment, append: [prefix + stream, ...append] }, 'SIGKILL'),
    elsewhere: (stream, ...append) =>
      runWorkerProcess(child, { url, moment: 'none', append: [prefix + stream, ...append] }, null),
    async teardown() {
      await store?.close()
      await onTeardown()
    },
  }
}

let fixtureCount = 0

/** Creates a fixture on a shared server. The categories of each fixture have a unique prefix. */
export const createNamespacedFixture = (url: string): EventStoreFixture =>
  createKurrentFixture(url, async () => {}, `w${process.pid}x${Date.now().toString(36)}x${++fixtureCount}x`)

function withNamespace(store: EventStore, prefix: string): EventStore {
  const stripPrefix = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
    events
      .filter(({ stream }) => stream.startsWith(prefix))
      .map((event) => ({ ...event, stream: event.stream.slice(prefix.length) }))
  return {
    append: (stream, expected, events) => store.append(prefix + stream, expected, events),
    read: async (stream, from, max) => stripPrefix(await store.read(prefix + stream, from, max)),
    async readAll(after, max, categories) {
      if (categories)
        return stripPrefix(
          await store.readAll(
            after,
            max,
            categories.map((category) => prefix + category),
          ),
        )
      const events: StoredEvent[] = []
      let page = await store.readAll(after, 500)
      while (page.length > 0 && events.length < max) {
        events.push(...stripPrefix(page))
        page = await store.readAll(page.at(-1)?.position ?? after, 500)
      }
      return events.slice(0, max)
    },
    async *follow({ categories, ...options }) {
      for await (const batch of store.follow({ ...options, categories: categories.map((category) => prefix + category) }))
        yield stripPrefix(batch)
    },
    close: () => store.close(),
  }
}
