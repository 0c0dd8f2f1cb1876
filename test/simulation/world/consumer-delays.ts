import type { Bus } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { CountOccurrence } from '../coverage.ts'

/** Delays consumers: messages of some keys of a topic wait, so messages of other keys overtake them. */
export type ConsumerDelays = {
  /** @param matchesKey returns whether the messages of a key wait @param untilMs the simulated time at which the delay ends */
  delay(group: string, topic: string, matchesKey: (key: string) => boolean, untilMs: number): void
  /** @returns the bus, with the delays applied to its consumers */
  withDelays(bus: Bus, clock: Clock): Bus
}

type ConsumerDelay = {
  readonly group: string
  readonly topic: string
  readonly matchesKey: (key: string) => boolean
  readonly untilMs: number
}

export function createConsumerDelays(now: () => number, countOccurrence: CountOccurrence): ConsumerDelays {
  let delays: readonly ConsumerDelay[] = []
  const getRemainingMs = (group: string, topic: string, key: string): number =>
    Math.max(
      0,
      ...delays
        .filter((delay) => delay.group === group && delay.topic === topic && delay.matchesKey(key))
        .map((delay) => delay.untilMs - now()),
    )
  return {
    delay(group, topic, matchesKey, untilMs) {
      delays = [...delays.filter((delay) => delay.untilMs > now()), { group, topic, matchesKey, untilMs }]
    },
    withDelays: (bus, clock) => ({
      ...bus,
      subscribe: (subscription) =>
        bus.subscribe({
          ...subscription,
          handle: async (message) => {
            for (;;) {
              const remainingMs = getRemainingMs(subscription.group, subscription.topic, message.key)
              if (remainingMs === 0) return subscription.handle(message)
              countOccurrence('message that waited for a slow consumer')
              await clock.sleep(remainingMs)
            }
          },
        }),
    }),
  }
}
