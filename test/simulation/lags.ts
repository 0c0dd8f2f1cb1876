import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Reached } from './reached.ts'

/** Consumers that are slow for a while: messages of some keys of a topic wait before they are handled, others overtake them. */
export type Lags = {
  /** @param isMeant of which keys the messages wait */
  lag(group: string, topic: string, isMeant: (key: string) => boolean, untilMs: number): void
  /** The same bus, as a process sees it whose consumers lag. */
  slowed(bus: Bus, clock: Clock): Bus
}

type Lag = {
  readonly group: string
  readonly topic: string
  readonly isMeant: (key: string) => boolean
  readonly untilMs: number
}

export function openLags(now: () => number, reached: Reached): Lags {
  let lags: readonly Lag[] = []
  const leftMs = (group: string, topic: string, key: string): number =>
    Math.max(
      0,
      ...lags.filter((lag) => lag.group === group && lag.topic === topic && lag.isMeant(key)).map((lag) => lag.untilMs - now()),
    )
  return {
    lag(group, topic, isMeant, untilMs) {
      lags = [...lags.filter((lag) => lag.untilMs > now()), { group, topic, isMeant, untilMs }]
    },
    slowed: (bus, clock) => ({
      ...bus,
      subscribe: (subscription) =>
        bus.subscribe({
          ...subscription,
          handle: async (message) => {
            for (;;) {
              const ms = leftMs(subscription.group, subscription.topic, message.key)
              if (ms === 0) return subscription.handle(message)
              reached('message that waited for a slow consumer')
              await clock.sleep(ms)
            }
          },
        }),
    }),
  }
}
