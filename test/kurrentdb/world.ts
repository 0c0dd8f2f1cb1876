import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import { runChild } from '@penstock/adapters/shared/child.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { EventStoreWorld } from '@penstock/ports/event-store.contract.ts'

const child = new URL('./event-store.child.ts', import.meta.url)

/** What the contract suite does with a server of its own. */
export function kurrentWorld(url: string, ended: () => Promise<void>, own = ''): EventStoreWorld {
  let store: EventStore | undefined
  const open = async (): Promise<EventStore> => {
    store = kurrentEventStore({ url })
    return own === '' ? store : namespaced(store, own)
  }
  return {
    open,
    async reopen() {
      await store?.close()
      return open()
    },
    crash: (moment, stream, ...append) => runChild(child, { url, moment, append: [own + stream, ...append] }, 'SIGKILL'),
    elsewhere: (stream, ...append) => runChild(child, { url, moment: 'none', append: [own + stream, ...append] }, null),
    async teardown() {
      await store?.close()
      await ended()
    },
  }
}

let worlds = 0

/** The same with a server that others use too: every world has categories of its own there. */
export const worldAmongOthers = (url: string): EventStoreWorld =>
  kurrentWorld(url, async () => {}, `w${process.pid}x${Date.now().toString(36)}x${++worlds}x`)

function namespaced(store: EventStore, own: string): EventStore {
  const inside = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
    events.filter(({ stream }) => stream.startsWith(own)).map((event) => ({ ...event, stream: event.stream.slice(own.length) }))
  return {
    append: (stream, expected, events) => store.append(own + stream, expected, events),
    read: async (stream, from, max) => inside(await store.read(own + stream, from, max)),
    async readAll(after, max, categories) {
      if (categories)
        return inside(
          await store.readAll(
            after,
            max,
            categories.map((category) => own + category),
          ),
        )
      const found: StoredEvent[] = []
      let page = await store.readAll(after, 500)
      while (page.length > 0 && found.length < max) {
        found.push(...inside(page))
        page = await store.readAll(page.at(-1)?.position ?? after, 500)
      }
      return found.slice(0, max)
    },
    async *follow({ categories, ...options }) {
      for await (const batch of store.follow({ ...options, categories: categories.map((category) => own + category) }))
        yield inside(batch)
    },
    close: () => store.close(),
  }
}
