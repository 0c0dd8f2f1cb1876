import { contracts } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, Handled } from '@penstock/ports/bus.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import { persist, throughFaults } from './backoff.ts'
import type { Basics } from './basics.ts'
import { eventOf } from './event-codec.ts'
import { lagBehind, type Lag } from './lag.ts'
import { factDelay, factsConsumed, messagesParked } from './metrics.ts'
import { eventTopic, factFromBus, factToBus, outcomeFromBus, type OutcomeMessage } from './messages.ts'
import type { Event } from './service.ts'
import { settling, type SettlingTimes } from './settling.ts'
import { TooNew } from './upcast.ts'
import { waits } from './waits.ts'

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

export type RunningConsumer = {
  readonly name: string
  readonly owner: string
  /** How far it is behind what was written. */
  readonly behind: () => Promise<Lag>
  close(): Promise<void>
}

const PAGE = 500

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

  const onFact = async (stored: StoredEvent): Promise<void> => {
    settled.begin(stored.position)
    try {
      const event = await withGapsFilled(context, consumer, stored, (position) => settled.end(position))
      if (event) factDelay.observe({ consumer: consumer.name }, Math.max(0, basics.clock.now() - event.at) / 1000)
    } catch (error) {
      // A fault comes again; what is parked is kept by the bus, and must not hold the watermark.
      if (!(error instanceof Fault)) settled.end(stored.position)
      throw error
    }
    settled.end(stored.position)
    factsConsumed.inc({ consumer: consumer.name })
  }
  const wanted = {
    group: consumer.name,
    topic: eventTopic(consumer.owner),
    handle: (message: BusMessage) => handled(basics, consumer, message, onFact),
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

/**
 * What cannot be handled is published once more, and parked when the bus hands it over, or waits there for a newer process:
 * a poisoned key must stop neither the start nor other keys.
 */
async function catchUp(context: ConsumeContext, consumer: Consumer, key: string, signal: AbortSignal): Promise<void> {
  const { store, progress, bus } = context
  const categories = consumer.contracts.map(({ category }) => category)
  const poisoned = new Set<string>()
  let after = (await progress.load(key)).position
  while (!signal.aborted) {
    const page = await store.readAll(after, PAGE, categories)
    const inOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        if (!poisoned.has(stored.stream) && (await appliedAtStart(context, consumer, stored, signal))) continue
        poisoned.add(stored.stream)
        await bus.publish(eventTopic(consumer.owner), [factToBus(stored)])
      }
    }
    // Streams side by side, so that a projection takes many facts into one transaction; the order counts within each.
    const lanes = await Promise.allSettled([...Map.groupBy(page, ({ stream }) => stream).values()].map(inOrder))
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
    const last = page.at(-1)
    if (!last) return
    after = last.position
    await progress.settle(key, after)
  }
}

/** @returns false for what cannot be applied as the code is now */
async function appliedAtStart(
  context: ConsumeContext,
  consumer: Consumer,
  stored: StoredEvent,
  signal: AbortSignal,
): Promise<boolean> {
  const { basics } = context
  const isOfUse = (error: unknown): boolean => error instanceof Fault && !(error instanceof TooNew)
  try {
    await persist(basics.clock, signal, () => withGapsFilled(context, consumer, stored), isOfUse)
    return true
  } catch (error) {
    if (isOfUse(error)) throw error
    basics.log.error(
      { consumer: consumer.name, stream: stored.stream, type: stored.type, reason: String(error) },
      'a fact could not be handled at start; it waits on the bus, or will be parked',
    )
    return false
  }
}

async function handled(
  basics: Basics,
  consumer: Consumer,
  message: BusMessage,
  onFact: (stored: StoredEvent) => Promise<void>,
): Promise<Handled> {
  try {
    const outcome = outcomeFromBus(message)
    if (outcome) await consumer.outcome?.(outcome)
    const stored = factFromBus(message)
    if (stored) await onFact(stored)
    return 'done'
  } catch (error) {
    if (error instanceof TooNew) waits(basics, consumer.name, message.key, error)
    if (error instanceof Fault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    messagesParked.inc({ consumer: consumer.name })
    basics.log.error(
      { consumer: consumer.name, key: message.key, type: message.headers['type'], reason, stack: stackOf(error) },
      'a message is parked',
    )
    return { park: reason }
  }
}

const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined)

/** @returns the event, where it is of a kind that the consumer wants */
async function withGapsFilled(
  { store, basics }: ConsumeContext,
  consumer: Consumer,
  stored: StoredEvent,
  filled: (position: bigint) => void = () => undefined,
): Promise<Event | undefined> {
  // Nothing can be missing before a stream's first fact.
  const seen = stored.revision === 0 ? undefined : await consumer.seen(stored.stream)
  if (seen !== undefined && stored.revision > seen + 1) {
    const missing = await store.read(stored.stream, seen + 1, stored.revision - seen - 1)
    if (missing.length < stored.revision - seen - 1)
      throw new Bug(
        `${stored.stream} jumps from revision ${seen} to ${stored.revision}, and its own stream does not have what is between`,
      )
    basics.log.info(
      { consumer: consumer.name, stream: stored.stream, from: seen + 1, to: stored.revision - 1 },
      'a gap was filled from the store',
    )
    for (const event of missing) {
      await applyStored(consumer, event)
      filled(event.position)
    }
  }
  return applyStored(consumer, stored)
}

async function applyStored(consumer: Consumer, stored: StoredEvent): Promise<Event | undefined> {
  const category = categoryOf(stored.stream)
  const contract = consumer.contracts.find((candidate) => candidate.category === category)
  if (!contract || consumer.passes?.(stored)) return undefined
  const event = eventOf(contract, stored)
  await consumer.apply(event)
  return event
}

/** The contracts that a set of categories' owners publish, grouped by owner: one consumer each. */
export function byOwner(wanted: readonly Contract[]): ReadonlyMap<string, readonly Contract[]> {
  const groups = new Map<string, Contract[]>()
  for (const contract of contracts) {
    if (!wanted.some(({ category }) => category === contract.category)) continue
    groups.set(contract.owner, [...(groups.get(contract.owner) ?? []), contract])
  }
  return groups
}
