import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'

type Parts = {
  readonly appender: Pick<EventStore, 'append'> & { idle(): Promise<void> }
  readonly reader: {
    read(stream: string, from: number, max: number | undefined): Promise<readonly StoredEvent[]>
    page: EventStore['readAll']
  }
  readonly follow: EventStore['follow']
  /** Lets go of what the store listens to, before the appends under way are waited for. */
  readonly deafen?: () => Promise<void>
  readonly disconnect: () => Promise<void>
}

/** The store on a server: it ends after what was begun, and refuses what is asked for afterwards. */
export function openStore({ appender, reader, follow, deafen, disconnect }: Parts, over: AbortController): EventStore {
  const checkOpen = (): void => {
    if (over.signal.aborted) throw new Fault('the event store is closed')
  }
  return {
    async append(stream, expected, events) {
      checkOpen()
      return appender.append(stream, expected, events)
    },
    async read(stream, from = 0, max) {
      checkOpen()
      return reader.read(stream, from, max)
    },
    async readAll(after, max, categories) {
      checkOpen()
      return reader.page(after, max, categories)
    },
    follow(wanted) {
      checkOpen()
      return follow(wanted)
    },
    async close() {
      if (over.signal.aborted) return
      over.abort()
      await deafen?.()
      await appender.idle()
      await disconnect()
    },
  }
}
