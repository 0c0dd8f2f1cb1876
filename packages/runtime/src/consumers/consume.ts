import { contracts } from '@penstock/contracts/contracts.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { retryFaults } from '../retry.ts'
import type { BasePorts } from '../base-ports.ts'
import { catchUp } from './catch-up.ts'
import { applyStored, type ConsumeContext, type Consumer } from './consumer.ts'
import { readFactsOfAnswer, readMissingFacts } from './gap-fill.ts'
import { readConsumerLag, type ConsumerLag } from './lag.ts'
import { factDelay, factsConsumed, messagesParked } from '../observability/metrics.ts'
import {
  eventTopic,
  factFromBus,
  factPosition,
  factToBus,
  type OutcomeMessage,
  outcomeFromBus,
  isLowPriority,
} from '../commands/messages.ts'
import { isUnpaid, type PaidPriorityScheduler, paidFirstOf } from '../commands/paid-first.ts'
import { createConsumerCheckpoint } from './consumer-checkpoint.ts'
import { NewerVersionFault } from '../commands/upcast.ts'
import { reportNewerVersion } from '../commands/newer-version.ts'

export type RunningConsumer = {
  readonly name: string
  readonly owner: string
  /** Reads how far the consumer is behind the store. */
  readonly readLag: () => Promise<ConsumerLag>
  close(): Promise<void>
}

/**
 * Follows the facts of one owner: first from the store, from the checkpoint to the present end of the log, then from the
 * bus. The consumer drops repeated facts, and a gap in a stream's revisions is filled from the store.
 */
export async function consume(context: ConsumeContext, consumer: Consumer, signal: AbortSignal): Promise<RunningConsumer> {
  const { bus, basePorts } = context
  const key = `${consumer.name}@${consumer.owner}`
  await retryFaults(basePorts, signal, () => catchUp(context, consumer, key, signal))
  const categories = consumer.contracts.map(({ category }) => category)
  const checkpoint = createConsumerCheckpoint(context, { key, owner: consumer.owner, categories }, context.times)

  const onFact = async (stored: StoredEvent): Promise<FailedFact | undefined> => {
    checkpoint.begin(stored.position)
    let before: readonly StoredEvent[] = []
    try {
      for (before = await readMissingFacts(context, consumer, key, stored); before[0]; before = before.slice(1)) {
        await applyStored(consumer, before[0])
        checkpoint.end(before[0].position)
      }
      const event = await applyStored(consumer, stored)
      if (event) factDelay.observe({ consumer: consumer.name }, Math.max(0, basePorts.clock.now() - event.at) / 1000)
    } catch (error) {
      // After a fault the bus delivers the fact again. A parked fact is stored, and must not hold back the watermark.
      if (error instanceof Fault) throw error
      const lostBefore = bus.mayLose ? before : []
      // Parked facts count as handled only once they are stored. If that fails, the bus delivers the fact again, and the
      // lost facts are found again.
      const onStored = (): void => [...lostBefore, stored].forEach(({ position }) => checkpoint.end(position))
      return { error, lostBefore, onStored }
    }
    checkpoint.end(stored.position)
    factsConsumed.inc({ consumer: consumer.name })
    return undefined
  }
  /** Applies the facts of an accepted command before its answer, so that a caller who gets the answer can read them. */
  const onOutcome = async (outcome: OutcomeMessage): Promise<void> => {
    // Another consumer follows the facts of this command, and answers its caller.
    if (!consumer.outcome || !categories.includes(outcome.category)) return
    for (const fact of await readFactsOfAnswer(context, consumer, outcome)) await applyStored(consumer, fact)
    await consumer.outcome(outcome)
  }
  const busSubscription = {
    group: consumer.name,
    topic: eventTopic(consumer.owner),
    isLowPriority,
    handle: (message: BusMessage) =>
      handleMessage(basePorts, consumer, message, paidFirstOf(bus, basePorts.clock), { onFact, onOutcome }),
    // The message is stored behind the parked message of its key, and must not hold back the watermark either.
    onSetAside(message: BusMessage): void {
      const position = factPosition(message)
      if (position !== undefined) checkpoint.end(position)
    },
  }
  const subscription = await retryFaults(basePorts, signal, () => bus.subscribe(busSubscription))
  const saving = checkpoint.run(signal)
  const { name, owner } = consumer
  return {
    name,
    owner,
    readLag: () => readConsumerLag(context, key, categories),
    async close() {
      await subscription.close()
      await saving
      await checkpoint.save()
    },
  }
}

type MessageHandlers = {
  readonly onFact: (stored: StoredEvent) => Promise<FailedFact | undefined>
  readonly onOutcome: (outcome: OutcomeMessage) => Promise<void>
}

async function handleMessage(
  basePorts: BasePorts,
  consumer: Consumer,
  message: BusMessage,
  paidFirst: PaidPriorityScheduler,
  { onFact, onOutcome }: MessageHandlers,
): Promise<HandlerResult> {
  try {
    const outcome = outcomeFromBus(message)
    if (outcome) await onOutcome(outcome)
    const stored = factFromBus(message)
    const failed = stored && (await paidFirst.run(isUnpaid(categoryOf(stored.stream), stored.type), () => onFact(stored)))
    return failed ? parkMessage(basePorts, consumer, message, failed) : 'done'
  } catch (error) {
    if (error instanceof NewerVersionFault) reportNewerVersion(basePorts, consumer.name, message.key, error)
    if (error instanceof Fault) throw error
    return parkMessage(basePorts, consumer, message, { error, lostBefore: [] })
  }
}

/** A fact that cannot be handled. `lostBefore`: earlier facts that the bus lost; if not empty, its first fact failed. */
type FailedFact = { readonly error: unknown; readonly lostBefore: readonly StoredEvent[]; readonly onStored?: () => void }

function parkMessage(
  { log }: BasePorts,
  { name }: Consumer,
  { key, headers }: BusMessage,
  { error, lostBefore, onStored }: FailedFact,
): HandlerResult {
  const reason = error instanceof Error ? error.message : String(error)
  messagesParked.inc({ consumer: name })
  log.error(
    { consumer: name, key, type: lostBefore[0]?.type ?? headers['type'], reason, stack: stackOf(error) },
    'a message is parked',
  )
  return { park: reason, ...(lostBefore.length > 0 && { lostBefore: lostBefore.map(factToBus) }), ...(onStored && { onStored }) }
}

const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined)

/** Groups contracts by their owners. Each group gets its own consumer. */
export function groupByOwner(selected: readonly Contract[]): ReadonlyMap<string, readonly Contract[]> {
  const groups = new Map<string, Contract[]>()
  for (const contract of contracts) {
    if (!selected.some(({ category }) => category === contract.category)) continue
    groups.set(contract.owner, [...(groups.get(contract.owner) ?? []), contract])
  }
  return groups
}
