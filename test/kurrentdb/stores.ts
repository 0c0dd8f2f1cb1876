import { kurrentEventStore, type KurrentStoreOptions } from '@penstock/adapters/kurrentdb/event-store.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import { onTestFinished } from 'vitest'
import { kurrentDouble } from './double/server.ts'

type ServerOptions = Parameters<typeof kurrentDouble>[0]

export async function aServer(options?: ServerOptions) {
  const server = await kurrentDouble(options)
  onTestFinished(() => server.stop())
  return server
}

/** Impatient, so that a test of silence is short. */
export function aStore(url: string, more: Partial<KurrentStoreOptions> = {}): EventStore {
  const store = kurrentEventStore({ url, timeoutMs: 1000, quietMs: 1000, ...more })
  onTestFinished(() => store.close())
  return store
}

export async function aPair(options?: ServerOptions, more?: Partial<KurrentStoreOptions>) {
  const server = await aServer(options)
  return { server, store: aStore(server.url, more) }
}

export const event = (data = '{}'): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data, meta: '{"v":1}' })
export const events = (count: number): NewEvent[] => Array.from({ length: count }, () => event())

/** The same call until the store answers, as the runtime makes it. */
export const answered = <T>(call: () => Promise<T>): Promise<T> =>
  until('the store answers', () =>
    call().catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      return undefined
    }),
  )

/** Follows for as long as the test lasts. @returns what was seen up to now */
export function following(store: EventStore, categories = ['order'], after: bigint | 'start' = 'start') {
  const stop = new AbortController()
  const seen: StoredEvent[] = []
  const run = async (): Promise<void> => {
    for await (const batch of store.follow({ categories, after, signal: stop.signal })) seen.push(...batch)
  }
  const ended = run()
  onTestFinished(() => {
    stop.abort()
    return ended
  })
  return { seen, sees: (count: number) => until(`${count} events are seen`, async () => seen.length >= count) }
}
