import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'

type StoreParts = {
  readonly appender: Pick<EventStore, 'append'> & { idle(): Promise<void> }
  readonly reader: {
    read(stream: string, from: number, max: number | undefined): Promise<readonly StoredEvent[]>
    page: EventStore['readAll']
  }
  readonly follow: EventStore['follow']
  /** Ends the subscriptions of the store. It runs before the wait for appends in progress. */
  readonly stopListening?: () => Promise<void>
  readonly disconnect: () => Promise<void>
}

/** Assembles a store on a server. Its close waits for appends in progress, and a closed store refuses calls. */
export function assembleServerStore(
  { appender, reader, follow, stopListening, disconnect }: StoreParts,
  closed: AbortController,
): EventStore {
  const checkOpen = (): void => {
    if (closed.signal.aborted) throw new Fault('the event store is closed')
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
    follow(followOptions) {
      checkOpen()
      return follow(followOptions)
    },
    async close() {
      if (closed.signal.aborted) return
      closed.abort()
      await stopListening?.()
      await appender.idle()
      await disconnect()
    },
  }
}
