import type { Contract } from '@penstock/contracts/define.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Basics } from './basics.ts'
import { eventOf } from './event-codec.ts'
import type { OutcomeMessage } from './messages.ts'
import type { Event } from './service.ts'
import type { SettlingTimes } from './settling.ts'

/** Who listens to the facts of one owner: reactions, or a projection. */
export type Consumer = {
  /** Consumers of one name share the work and their progress. */
  readonly name: string
  readonly owner: string
  readonly contracts: readonly Contract[]
  /**
   * The last revision of a stream that was handled: −1 where none was, undefined where the consumer cannot tell. The
   * watermark cannot tell either: another replica may have died with a fact below it, which the bus hands over again.
   */
  readonly seen: (stream: string) => Promise<number | undefined>
  /** In order per stream; drops what it has seen. Throws Fault to be called again. */
  readonly apply: (event: Event) => Promise<void>
  readonly outcome?: (outcome: OutcomeMessage) => Promise<void>
  /** Whether it has nothing to do with a fact, which then counts as seen: such a one is not read, whatever wrote it. */
  readonly passes?: (stored: StoredEvent) => boolean
}

export type ConsumeContext = {
  readonly store: EventStore
  readonly bus: Bus
  readonly progress: Progress
  readonly basics: Basics
  /** Other than in production where a test has less patience. */
  readonly times?: SettlingTimes
}

/** @returns the event, where it is of a kind that the consumer wants */
export async function applyStored(consumer: Consumer, stored: StoredEvent): Promise<Event | undefined> {
  const category = categoryOf(stored.stream)
  const contract = consumer.contracts.find((candidate) => candidate.category === category)
  if (!contract || consumer.passes?.(stored)) return undefined
  const event = eventOf(contract, stored)
  await consumer.apply(event)
  return event
}
