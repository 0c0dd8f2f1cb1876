import { kurrentEventStore, type KurrentStoreOptions } from '@penstock/adapters/kurrentdb/event-store.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { onTestFinished } from 'vitest'
import { startKurrentDouble } from './double/server.ts'

type ServerOptions = Parameters<typeof startKurrentDouble>[0]

export async function useKurrentServer(options?: ServerOptions) {
  const server = await startKurrentDouble(options)
  onTestFinished(() => server.stop())
  return server
}

/** Opens a store with short timeouts, so that a test with a silent server is short. */
export function openKurrentStore(url: string, extraOptions: Partial<KurrentStoreOptions> = {}): EventStore {
  const store = kurrentEventStore({ url, timeoutMs: 1000, quietMs: 1000, ...extraOptions })
  onTestFinished(() => store.close())
  return store
}

export async function openServerAndStore(options?: ServerOptions, extraOptions?: Partial<KurrentStoreOptions>) {
  const server = await useKurrentServer(options)
  return { server, store: openKurrentStore(server.url, extraOptions) }
}

export const createNewEvent = (data = '{}'): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data, meta: '{"v":1}' })
export const createNewEvents = (count: number): NewEvent[] => Array.from({ length: count }, () => createNewEvent())

/** Repeats a call after each Fault until the store answers, as the runtime does. */
export const retryUntilStoreAnswers = <T>(call: () => Promise<T>): Promise<T> =>
  waitForValue('the store answers', () =>
    call().catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      return undefined
    }),
  )

/** Follows until the end of the test. @returns the events that have arrived so far */
export function followDuringTest(store: EventStore, categories = ['order'], after: bigint | 'start' = 'start') {
  const stop = new AbortController()
  const received: StoredEvent[] = []
  const run = async (): Promise<void> => {
    for await (const batch of store.follow({ categories, after, signal: stop.signal })) received.push(...batch)
  }
  const ended = run()
  onTestFinished(() => {
    stop.abort()
    return ended
  })
  return {
    seen: received,
    waitForCount: (count: number) => waitForValue(`${count} events have arrived`, async () => received.length >= count),
  }
}
