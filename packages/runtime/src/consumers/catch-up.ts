import { Fault } from '@penstock/kernel/result.ts'
import { aggregateIdOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { retryUntil } from '../retry.ts'
import type { ConsumeContext, Consumer } from './consumer.ts'
import { applyFillingGap } from './gap-fill.ts'
import { eventTopic } from '../commands/messages.ts'
import { republishFacts } from './republish.ts'
import { NewerVersionFault } from '../commands/upcast.ts'

const PAGE = 500

/**
 * Applies the facts that a consumer has missed. A fact that cannot be handled must block neither the start nor other keys.
 * It is published again, so that the bus delivers it, and then it is parked or waits for a newer process.
 * If the bus may lose messages, the position stays before that fact until the fact is handled or parked. Later handled facts
 * are recorded meanwhile.
 */
export async function catchUp(context: ConsumeContext, consumer: Consumer, key: string, signal: AbortSignal): Promise<void> {
  const { store, progress, bus } = context
  const categories = consumer.contracts.map(({ category }) => category)
  const streamsWithFailedFact = new Set<string>()
  const deferred = new Set<bigint>()
  const deferFact = async (stored: StoredEvent): Promise<void> => {
    await republishFacts(bus, consumer.owner, [stored])
    if (bus.mayLose) deferred.add(stored.position)
  }
  let after = (await progress.load(key)).position
  while (!signal.aborted) {
    const page = await store.readAll(after, PAGE, categories)
    const checkHandled = await createHandledCheck(context, consumer, key, page)
    const applyInOrder = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const stored of events) {
        const handledState = await checkHandled(stored)
        if (handledState === 'perhaps') await deferFact(stored)
        if (handledState !== 'no') continue
        if (!streamsWithFailedFact.has(stored.stream) && (await tryApply(context, consumer, stored, signal))) continue
        streamsWithFailedFact.add(stored.stream)
        await deferFact(stored)
      }
    }
    // Streams are handled concurrently, so that a projection commits many facts together. Order matters only within a stream.
    const streamResults = await Promise.allSettled([...Map.groupBy(page, ({ stream }) => stream).values()].map(applyInOrder))
    for (const streamResult of streamResults) if (streamResult.status === 'rejected') throw streamResult.reason
    const last = page.at(-1)
    if (!last) return
    after = last.position
    if (deferred.size === 0) await progress.saveCheckpoint(key, after)
    else
      await progress.markHandled(
        key,
        page.map(({ position }) => position).filter((position) => !deferred.has(position)),
      )
  }
}

/**
 * Creates a check for facts of a page that were handled, or that wait with a parked key and must not be overtaken. A consumer
 * that knows its last revision of a stream drops handled facts, and finds gaps, without this check.
 * @returns the check; its result is 'perhaps' for a fact of a parked key that the bus may have lost
 */
async function createHandledCheck(
  { bus, progress }: ConsumeContext,
  consumer: Consumer,
  key: string,
  page: readonly StoredEvent[],
) {
  const [first, last] = [page[0], page.at(-1)]
  const topic = eventTopic(consumer.owner)
  const parked = (await bus.parked()).filter((one) => one.group === consumer.name && one.topic === topic)
  const keys = new Set(parked.map((one) => one.key))
  const handled = new Set(first && last && bus.mayLose ? await progress.listHandled(key, first.position - 1n, last.position) : [])
  return async ({ stream, position }: StoredEvent): Promise<'no' | 'yes' | 'perhaps'> => {
    if ((await consumer.lastRevision(stream)) !== undefined) return 'no'
    if (handled.has(position)) return 'yes'
    if (!keys.has(aggregateIdOf(stream))) return 'no'
    return bus.mayLose ? 'perhaps' : 'yes'
  }
}

/** @returns false if today's code cannot apply the fact */
async function tryApply(context: ConsumeContext, consumer: Consumer, stored: StoredEvent, signal: AbortSignal): Promise<boolean> {
  const { basePorts } = context
  const isRetryable = (error: unknown): boolean => error instanceof Fault && !(error instanceof NewerVersionFault)
  try {
    await retryUntil(basePorts, signal, () => applyFillingGap(context, consumer, stored), isRetryable)
    return true
  } catch (error) {
    if (isRetryable(error)) throw error
    basePorts.log.error(
      { consumer: consumer.name, stream: stored.stream, type: stored.type, reason: String(error) },
      'a fact could not be handled at start; it waits on the bus, or will be parked',
    )
    return false
  }
}
