import { Fault } from '@penstock/kernel/result.ts'
import { aggregateIdOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { persist } from './backoff.ts'
import type { ConsumeContext, Consumer } from './consumer.ts'
import { applyWithGap } from './facts-before.ts'
import { eventTopic } from './messages.ts'
import { publishAgain } from './republish.ts'
import { TooNew } from './upcast.ts'

const PAGE = 500

/**
 * What cannot be handled is published once more, and parked when the bus hands it over, or waits there for a newer process:
 * a poisoned key must stop neither the start nor other keys. A bus that may lose it is not trusted with it alone: the
 * position stays before it until it is done or kept, and what lies behind it is noted.
 */
export async function catchUp(context: ConsumeContext, consumer: Consumer, key: string, signal: AbortSignal): Promise<void> {
  const { store, progress, bus } = context
  const categories = consumer.contracts.map(({ category }) => category)
  const poisoned = new Set<string>()
  const left = new Set<bigint>()
  const leave = async (stored: StoredEvent): Promise<void> => {
    await publishAgain(bus, consumer.owner, [stored])
    if (bus.mayLose) left.add(stored.position)
  }
  let after = (await progress.load(key)).position
  while (!signal.aborted) {
    const page = await store.readAll(after, PAGE, categories)
    const dealtWith = await whatWasDealtWith(context, consumer, key, page)
    const inOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        const place = await dealtWith(stored)
        if (place === 'perhaps') await leave(stored)
        if (place !== 'no') continue
        if (!poisoned.has(stored.stream) && (await appliedAtStart(context, consumer, stored, signal))) continue
        poisoned.add(stored.stream)
        await leave(stored)
      }
    }
    // Streams side by side, so that a projection takes many facts into one transaction; the order counts within each.
    const lanes = await Promise.allSettled([...Map.groupBy(page, ({ stream }) => stream).values()].map(inOrder))
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
    const last = page.at(-1)
    if (!last) return
    after = last.position
    if (left.size === 0) await progress.settle(key, after)
    else
      await progress.note(
        key,
        page.map(({ position }) => position).filter((position) => !left.has(position)),
      )
  }
}

/**
 * Which facts of a page were done, or are kept with a parked key, where they wait in order: to apply a later one would
 * overtake them. A consumer that knows what it has seen of a stream drops what was done, and finds the gap, itself.
 * @returns 'perhaps' for one of a parked key that may have been lost on its way there
 */
async function whatWasDealtWith(
  { bus, progress }: ConsumeContext,
  consumer: Consumer,
  key: string,
  page: readonly StoredEvent[],
) {
  const [first, last] = [page[0], page.at(-1)]
  const topic = eventTopic(consumer.owner)
  const parked = (await bus.parked()).filter((one) => one.group === consumer.name && one.topic === topic)
  const keys = new Set(parked.map((one) => one.key))
  const noted = new Set(first && last && bus.mayLose ? await progress.noted(key, first.position - 1n, last.position) : [])
  return async ({ stream, position }: StoredEvent): Promise<'no' | 'yes' | 'perhaps'> => {
    if ((await consumer.seen(stream)) !== undefined) return 'no'
    if (noted.has(position)) return 'yes'
    if (!keys.has(aggregateIdOf(stream))) return 'no'
    return bus.mayLose ? 'perhaps' : 'yes'
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
