import type { RunningSubscription, Subscription } from '@penstock/ports/bus.ts'
import type { RandomSource } from '@penstock/kernel/backoff.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import type { Dispatcher, DispatcherOptions } from './dispatcher.ts'

export type BusOptions = {
  readonly clock?: Clock
  /** The random source that shortens waits. */
  readonly chance?: RandomSource
  /**
   * First wait in ms before a handler that threw is called again. Waits double up to `retryMaxMs`, and are shortened at random.
   */
  readonly retryMinMs?: number
  readonly retryMaxMs?: number
}

type SharedDispatcher = {
  readonly topic: string
  readonly ready: Promise<Dispatcher>
  dispatcher: Dispatcher | undefined
  ended: Promise<void> | undefined
}

const DEFAULT_CONCURRENCY = 64

/** The subscriptions of one process. Subscriptions of one group and topic share a dispatcher, so that no key has two handlers. */
export function createSubscriptions(
  open: (group: string, topic: string, dispatcherOptions: DispatcherOptions) => Promise<Dispatcher>,
  { clock = systemClock, chance = systemChance, retryMinMs = 25, retryMaxMs = 5000 }: BusOptions,
) {
  const dispatchers = new Map<string, SharedDispatcher>()
  const all = new Set<RunningSubscription>()
  const nameOf = (group: string, topic: string): string => JSON.stringify([group, topic])

  /**
   * Finds or opens the dispatcher of the group and topic. Waits for the end of an earlier dispatcher, so that two never overlap.
   */
  async function joinDispatcher({
    group,
    topic,
    concurrency = DEFAULT_CONCURRENCY,
    isLowPriority = () => false,
  }: Subscription): Promise<SharedDispatcher & { dispatcher: Dispatcher }> {
    const name = nameOf(group, topic)
    for (;;) {
      const present = dispatchers.get(name)
      if (present?.ended) {
        await present.ended
        continue
      }
      if (!present) {
        const ready = open(group, topic, { concurrency, isLowPriority, clock, chance, retryMinMs, retryMaxMs })
        dispatchers.set(name, { topic, ready, dispatcher: undefined, ended: undefined })
        ready.catch(() => dispatchers.delete(name))
        continue
      }
      const opened = await present.ready
      if (!present.ended) return Object.assign(present, { dispatcher: opened })
    }
  }

  return {
    async subscribe(subscription: Subscription): Promise<RunningSubscription> {
      const name = nameOf(subscription.group, subscription.topic)
      const entry = await joinDispatcher(subscription)
      const handle = (message: Parameters<Subscription['handle']>[0]) => subscription.handle(message)
      // A message is set aside if it is stored unhandled, because an earlier message of its key is parked.
      entry.dispatcher.add(handle, (message) => subscription.onSetAside?.(message))
      entry.dispatcher.pump()
      let closing: Promise<void> | undefined
      const close = async (): Promise<void> => {
        all.delete(running)
        const { isLast, done } = entry.dispatcher.remove(handle)
        if (isLast) entry.ended = done.finally(() => dispatchers.delete(name))
        await done
      }
      const running: RunningSubscription = { close: () => (closing ??= close()) }
      all.add(running)
      return running
    },
    /** Starts the handling of messages that were added to these topics. Without `topics` it handles all topics. */
    pump(topics?: ReadonlySet<string>): void {
      for (const { topic, dispatcher } of dispatchers.values()) if (!topics || topics.has(topic)) dispatcher?.pump()
    },
    replay(group: string, topic: string, key: string): void {
      dispatchers.get(nameOf(group, topic))?.dispatcher?.replay(key)
    },
    async close(): Promise<void> {
      await Promise.all([...all].map((subscription) => subscription.close()))
    },
  }
}
