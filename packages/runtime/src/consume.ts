import { contracts } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, Handled } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { throughFaults } from './backoff.ts'
import type { Basics } from './basics.ts'
import { catchUp } from './catch-up.ts'
import { applyStored, type ConsumeContext, type Consumer } from './consumer.ts'
import { factsBefore } from './facts-before.ts'
import { lagBehind, type Lag } from './lag.ts'
import { factDelay, factsConsumed, messagesParked } from './metrics.ts'
import { eventTopic, factFromBus, factPosition, factToBus, outcomeFromBus } from './messages.ts'
import { settling } from './settling.ts'
import { TooNew } from './upcast.ts'
import { waits } from './waits.ts'

export type RunningConsumer = {
  readonly name: string
  readonly owner: string
  /** How far it is behind what was written. */
  readonly behind: () => Promise<Lag>
  close(): Promise<void>
}

/**
 * Follows the facts of one owner: first from the store, from the watermark to where the log ends now, then from the bus.
 * What arrives twice is dropped by the consumer; a jump in a stream's revisions is filled from the store.
 */
export async function consume(context: ConsumeContext, consumer: Consumer, signal: AbortSignal): Promise<RunningConsumer> {
  const { bus, basics } = context
  const key = `${consumer.name}@${consumer.owner}`
  await throughFaults(basics.clock, signal, () => catchUp(context, consumer, key, signal))
  const categories = consumer.contracts.map(({ category }) => category)
  const settled = settling(context, { key, owner: consumer.owner, categories }, context.times)

  const onFact = async (stored: StoredEvent): Promise<Failed | undefined> => {
    settled.begin(stored.position)
    let before: readonly StoredEvent[] = []
    try {
      for (before = await factsBefore(context, consumer, key, stored); before[0]; before = before.slice(1)) {
        await applyStored(consumer, before[0])
        settled.end(before[0].position)
      }
      const event = await applyStored(consumer, stored)
      if (event) factDelay.observe({ consumer: consumer.name }, Math.max(0, basics.clock.now() - event.at) / 1000)
    } catch (error) {
      // A fault comes again; what is parked is kept by the bus, and must not hold the watermark then.
      if (error instanceof Fault) throw error
      const lost = bus.mayLose ? before : []
      // Before it is kept nothing counts as done: where that fails, it comes again, and what was lost is found again.
      const kept = (): void => [...lost, stored].forEach(({ position }) => settled.end(position))
      return { error, lost, kept }
    }
    settled.end(stored.position)
    factsConsumed.inc({ consumer: consumer.name })
    return undefined
  }
  const wanted = {
    group: consumer.name,
    topic: eventTopic(consumer.owner),
    handle: (message: BusMessage) => handled(basics, consumer, message, onFact),
    // Kept with its key as the parked one is, and must not hold the watermark either.
    aside(message: BusMessage): void {
      const position = factPosition(message)
      if (position !== undefined) settled.end(position)
    },
  }
  const subscription = await throughFaults(basics.clock, signal, () => bus.subscribe(wanted))
  const saving = settled.run(signal)
  const { name, owner } = consumer
  return {
    name,
    owner,
    behind: () => lagBehind(context, key, categories),
    async close() {
      await subscription.close()
      await saving
      await settled.save()
    },
  }
}

async function handled(
  basics: Basics,
  consumer: Consumer,
  message: BusMessage,
  onFact: (stored: StoredEvent) => Promise<Failed | undefined>,
): Promise<Handled> {
  try {
    const outcome = outcomeFromBus(message)
    if (outcome) await consumer.outcome?.(outcome)
    const stored = factFromBus(message)
    const failed = stored && (await onFact(stored))
    return failed ? parked(basics, consumer, message, failed) : 'done'
  } catch (error) {
    if (error instanceof TooNew) waits(basics, consumer.name, message.key, error)
    if (error instanceof Fault) throw error
    return parked(basics, consumer, message, { error, lost: [] })
  }
}

/** Why a fact cannot be handled, and which ones before it were lost on their way: the first of them, where there is one, is why. */
type Failed = { readonly error: unknown; readonly lost: readonly StoredEvent[]; readonly kept?: () => void }

function parked({ log }: Basics, { name }: Consumer, { key, headers }: BusMessage, { error, lost, kept }: Failed): Handled {
  const reason = error instanceof Error ? error.message : String(error)
  messagesParked.inc({ consumer: name })
  log.error({ consumer: name, key, type: lost[0]?.type ?? headers['type'], reason, stack: stackOf(error) }, 'a message is parked')
  return { park: reason, ...(lost.length > 0 && { lost: lost.map(factToBus) }), ...(kept && { kept }) }
}

const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined)

/** The contracts that a set of categories' owners publish, grouped by owner: one consumer each. */
export function byOwner(wanted: readonly Contract[]): ReadonlyMap<string, readonly Contract[]> {
  const groups = new Map<string, Contract[]>()
  for (const contract of contracts) {
    if (!wanted.some(({ category }) => category === contract.category)) continue
    groups.set(contract.owner, [...(groups.get(contract.owner) ?? []), contract])
  }
  return groups
}
