import type { RunningSubscription, Subscription } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { systemClock } from '../system/clock.ts'
import type { Dispatcher, DispatcherOptions } from './dispatcher.ts'

export type BusOptions = {
  readonly clock?: Clock
  /** Back-off of a handler that throws: the first wait, doubled up to the last. */
  readonly retryMinMs?: number
  readonly retryMaxMs?: number
}

type Shared = {
  readonly topic: string
  readonly ready: Promise<Dispatcher>
  dispatcher: Dispatcher | undefined
  ended: Promise<void> | undefined
}

const DEFAULT_CONCURRENCY = 64

/** The subscriptions of one process: those of one group and topic share a dispatcher, so that no key is in two hands. */
export function subscriptions(
  open: (group: string, topic: string, how: DispatcherOptions) => Promise<Dispatcher>,
  { clock = systemClock, retryMinMs = 25, retryMaxMs = 5000 }: BusOptions,
) {
  const shared = new Map<string, Shared>()
  const all = new Set<RunningSubscription>()
  const nameOf = (group: string, topic: string): string => JSON.stringify([group, topic])

  /** @returns the dispatcher of the group and topic; one that is ending is waited for, so that two never overlap */
  async function join({
    group,
    topic,
    concurrency = DEFAULT_CONCURRENCY,
  }: Subscription): Promise<Shared & { dispatcher: Dispatcher }> {
    const name = nameOf(group, topic)
    for (;;) {
      const present = shared.get(name)
      if (present?.ended) {
        await present.ended
        continue
      }
      if (!present) {
        const ready = open(group, topic, { concurrency, clock, retryMinMs, retryMaxMs })
        shared.set(name, { topic, ready, dispatcher: undefined, ended: undefined })
        ready.catch(() => shared.delete(name))
        continue
      }
      const opened = await present.ready
      if (!present.ended) return Object.assign(present, { dispatcher: opened })
    }
  }

  return {
    async subscribe(subscription: Subscription): Promise<RunningSubscription> {
      const name = nameOf(subscription.group, subscription.topic)
      const entry = await join(subscription)
      const handle = (message: Parameters<Subscription['handle']>[0]) => subscription.handle(message)
      entry.dispatcher.add(handle, (message) => subscription.aside?.(message))
      entry.dispatcher.pump()
      let closing: Promise<void> | undefined
      const close = async (): Promise<void> => {
        all.delete(running)
        const { isLast, done } = entry.dispatcher.remove(handle)
        if (isLast) entry.ended = done.finally(() => shared.delete(name))
        await done
      }
      const running: RunningSubscription = { close: () => (closing ??= close()) }
      all.add(running)
      return running
    },
    /** After messages were added; without topics: perhaps to any of them. */
    pump(topics?: ReadonlySet<string>): void {
      for (const { topic, dispatcher } of shared.values()) if (!topics || topics.has(topic)) dispatcher?.pump()
    },
    replay(group: string, topic: string, key: string): void {
      shared.get(nameOf(group, topic))?.dispatcher?.replay(key)
    },
    async close(): Promise<void> {
      await Promise.all([...all].map((subscription) => subscription.close()))
    },
  }
}
