import { contracts } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, Handled } from '@penstock/ports/bus.ts'
import { aggregateIdOf, categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import { persist, throughFaults } from './backoff.ts'
import type { Basics } from './basics.ts'
import { eventOf } from './event-codec.ts'
import { lagBehind, type Lag } from './lag.ts'
import { factDelay, factsConsumed, messagesParked } from './metrics.ts'
import { eventTopic, factFromBus, factPosition, factToBus, outcomeFromBus, type OutcomeMessage } from './messages.ts'
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

/**
 * What cannot be handled is published once more, and parked when the bus hands it over, or waits there for a newer process:
 * a poisoned key must stop neither the start nor other keys.
 */
async function catchUp(context: ConsumeContext, consumer: Consumer, key: string, signal: AbortSignal): Promise<void> {
  const { store, progress, bus } = context
  const categories = consumer.contracts.map(({ category }) => category)
  const poisoned = new Set<string>()
  const publish = (stored: StoredEvent): Promise<void> => bus.publish(eventTopic(consumer.owner), [factToBus(stored)])
  let after = (await progress.load(key)).position
  while (!signal.aborted) {
    const page = await store.readAll(after, PAGE, categories)
    const waiting = await waitingOnBus(context, consumer, key, page)
    const inOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        const place = await waiting(stored)
        if (place === 'perhaps') await publish(stored)
        if (place !== 'no') continue
        if (!poisoned.has(stored.stream) && (await appliedAtStart(context, consumer, stored, signal))) continue
        poisoned.add(stored.stream)
        await publish(stored)
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

/**
 * Which facts of a page are of parked keys, and wait there in order: to apply a later one would overtake them. A consumer
 * that knows what it has seen of a stream finds the gap itself.
 * @returns 'perhaps' for one that may have been lost on its way there
 */
async function waitingOnBus({ bus, progress }: ConsumeContext, consumer: Consumer, key: string, page: readonly StoredEvent[]) {
  const [first, last] = [page[0], page.at(-1)]
  const topic = eventTopic(consumer.owner)
  const parked = (await bus.parked()).filter((one) => one.group === consumer.name && one.topic === topic)
  const keys = new Set(parked.map((one) => one.key))
  const noted = first && last && keys.size > 0 && bus.mayLose ? await progress.noted(key, first.position - 1n, last.position) : []
  const kept = new Set(noted)
  return async ({ stream, position }: StoredEvent): Promise<'no' | 'yes' | 'perhaps'> => {
    if (!keys.has(aggregateIdOf(stream)) || (await consumer.seen(stream)) !== undefined) return 'no'
    return bus.mayLose && !kept.has(position) ? 'perhaps' : 'yes'
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
    await persist(basics.clock, signal, () => applyWithGap(context, consumer, stored), isOfUse)
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

async function applyWithGap(context: ConsumeContext, consumer: Consumer, stored: StoredEvent): Promise<void> {
  const seen = await seenBefore(consumer, stored)
  if (seen !== undefined)
    for (const before of await gapAfter(context, consumer, seen, stored)) await applyStored(consumer, before)
  await applyStored(consumer, stored)
}

/** Nothing can be missing before a stream's first fact. */
const seenBefore = async (consumer: Consumer, { stream, revision }: StoredEvent): Promise<number | undefined> =>
  revision === 0 ? -1 : consumer.seen(stream)

/** What of a fact's stream has to be applied before it. */
async function factsBefore(
  context: ConsumeContext,
  consumer: Consumer,
  key: string,
  stored: StoredEvent,
): Promise<readonly StoredEvent[]> {
  const { bus, progress } = context
  const seen = await seenBefore(consumer, stored)
  if (seen !== undefined) return gapAfter(context, consumer, seen, stored)
  if (!bus.mayLose) return []
  // It cannot tell what it has seen, but what was done is settled or noted, whoever did it.
  const { position: settled } = await progress.load(key)
  const before = await between(context, stored, 0)
  const open = before.filter(({ position }) => settled === 'start' || position > settled)
  const [first] = open
  if (!first) return []
  const noted = new Set(await progress.noted(key, first.position - 1n, stored.position))
  return open.filter(({ position }) => !noted.has(position))
}

async function gapAfter(
  context: ConsumeContext,
  consumer: Consumer,
  seen: number,
  stored: StoredEvent,
): Promise<readonly StoredEvent[]> {
  if (stored.revision <= seen + 1) return []
  const missing = await between(context, stored, seen + 1)
  const told = { consumer: consumer.name, stream: stored.stream, from: seen + 1, to: stored.revision - 1 }
  context.basics.log.info(told, 'a gap is filled from the store')
  return missing
}

/** The facts of a stream from a revision to one that arrived. */
async function between({ store }: ConsumeContext, { stream, revision }: StoredEvent, from: number) {
  const events = await store.read(stream, from, revision - from)
  if (events.length < revision - from)
    throw new Bug(`${stream} jumps from revision ${from - 1} to ${revision}, and its own stream does not have what is between`)
  return events
}

/** @returns the event, where it is of a kind that the consumer wants */
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
