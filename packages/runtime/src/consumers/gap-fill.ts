import { Bug } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { OutcomeMessage } from '../commands/messages.ts'
import { applyStored, type ConsumeContext, type Consumer, findContract } from './consumer.ts'

export async function applyFillingGap(context: ConsumeContext, consumer: Consumer, stored: StoredEvent): Promise<void> {
  const lastRevision = await lastRevisionBefore(consumer, stored)
  if (lastRevision !== undefined)
    for (const before of await readGap(context, consumer, lastRevision, stored)) await applyStored(consumer, before)
  await applyStored(consumer, stored)
}

/** A stream's first fact has no facts before it that could be missing. */
const lastRevisionBefore = async (consumer: Consumer, { stream, revision }: StoredEvent): Promise<number | undefined> =>
  revision === 0 ? -1 : consumer.lastRevision(stream)

/** Reads the facts of a stream that have to be applied before the given fact. */
export async function readMissingFacts(
  context: ConsumeContext,
  consumer: Consumer,
  key: string,
  stored: StoredEvent,
): Promise<readonly StoredEvent[]> {
  // The consumer has no progress in the streams of other categories, and ignores their facts.
  if (!findContract(consumer, stored)) return []
  const { bus, progress } = context
  const lastRevision = await lastRevisionBefore(consumer, stored)
  if (lastRevision !== undefined) return readGap(context, consumer, lastRevision, stored)
  if (!bus.mayLose) return []
  // The consumer does not know its last revision. Facts that any replica handled are below the position or recorded.
  const { position: checkpoint } = await progress.load(key)
  const before = await readBetween(context, stored, 0)
  const open = before.filter(({ position }) => checkpoint === 'start' || position > checkpoint)
  const [first] = open
  if (!first) return []
  const recorded = new Set(await progress.listHandled(key, first.position - 1n, stored.position))
  return open.filter(({ position }) => !recorded.has(position))
}

async function readGap(
  context: ConsumeContext,
  consumer: Consumer,
  lastRevision: number,
  stored: StoredEvent,
): Promise<readonly StoredEvent[]> {
  if (stored.revision <= lastRevision + 1) return []
  const missing = await readBetween(context, stored, lastRevision + 1)
  const logFields = { consumer: consumer.name, stream: stored.stream, from: lastRevision + 1, to: stored.revision - 1 }
  context.basePorts.log.info(logFields, 'filling a gap from the store')
  return missing
}

/**
 * Reads the facts up to an accepted command's answer that the consumer has not applied. A repeated command is answered by a
 * message, and the process that appended its facts may have ended before it published them.
 */
export async function readFactsOfAnswer(
  { store }: ConsumeContext,
  consumer: Consumer,
  { category, aggregateId, revision, refused }: OutcomeMessage,
): Promise<readonly StoredEvent[]> {
  if (refused !== null || revision === 'none') return []
  const stream = `${category}-${aggregateId}`
  const lastRevision = await consumer.lastRevision(stream)
  if (lastRevision === undefined || lastRevision >= revision) return []
  return store.read(stream, lastRevision + 1, revision - lastRevision)
}

/** Reads the facts of a stream from a revision up to a fact that arrived. */
async function readBetween({ store }: ConsumeContext, { stream, revision }: StoredEvent, from: number) {
  const events = await store.read(stream, from, revision - from)
  if (events.length < revision - from)
    throw new Bug(`${stream} jumps from revision ${from - 1} to ${revision}, and its stream does not contain the facts between`)
  return events
}
