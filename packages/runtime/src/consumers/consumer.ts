import type { Contract } from '@penstock/contracts/define.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { BasePorts } from '../base-ports.ts'
import { readEvent } from '../commands/event-codec.ts'
import type { OutcomeMessage } from '../commands/messages.ts'
import type { Event } from '../service.ts'
import type { CheckpointTiming } from './consumer-checkpoint.ts'

/** A consumer of one owner's facts: the reactions of a service, or a projection. */
export type Consumer = {
  /** Consumers with the same name share their work and their progress. */
  readonly name: string
  readonly owner: string
  readonly contracts: readonly Contract[]
  /**
   * The last handled revision of a stream: −1 if there is none, undefined if the consumer does not know it. The checkpoint
   * does not show it, because a fact below the checkpoint may be unhandled: the replica that received it has crashed. The bus
   * then delivers the fact again.
   */
  readonly lastRevision: (stream: string) => Promise<number | undefined>
  /**
   * Applies the facts of a stream in order, and drops repeated facts.
   * @throws Fault if the bus has to deliver the fact again
   */
  readonly apply: (event: Event) => Promise<void>
  readonly outcome?: (outcome: OutcomeMessage) => Promise<void>
  /** Whether the consumer ignores a fact. An ignored fact counts as handled and is not parsed, whichever version wrote it. */
  readonly isIgnored?: (stored: StoredEvent) => boolean
}

export type ConsumeContext = {
  readonly store: EventStore
  readonly bus: Bus
  readonly progress: ConsumerProgress
  readonly basePorts: BasePorts
  /** Shorter times for tests. */
  readonly times?: CheckpointTiming
}

/** @returns undefined if the consumer does not follow the category of the fact */
export function findContract({ contracts }: Pick<Consumer, 'contracts'>, { stream }: StoredEvent): Contract | undefined {
  const category = categoryOf(stream)
  return contracts.find((contract) => contract.category === category)
}

/** @returns the event; undefined if the consumer ignores it */
export async function applyStored(consumer: Consumer, stored: StoredEvent): Promise<Event | undefined> {
  const contract = findContract(consumer, stored)
  if (!contract || consumer.isIgnored?.(stored)) return undefined
  const event = readEvent(contract, stored)
  await consumer.apply(event)
  return event
}
