import { Bug } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { applyStored, type ConsumeContext, type Consumer } from './consumer.ts'

export async function applyWithGap(context: ConsumeContext, consumer: Consumer, stored: StoredEvent): Promise<void> {
  const seen = await seenBefore(consumer, stored)
  if (seen !== undefined)
    for (const before of await gapAfter(context, consumer, seen, stored)) await applyStored(consumer, before)
  await applyStored(consumer, stored)
}

/** Nothing can be missing before a stream's first fact. */
const seenBefore = async (consumer: Consumer, { stream, revision }: StoredEvent): Promise<number | undefined> =>
  revision === 0 ? -1 : consumer.seen(stream)

/** What of a fact's stream has to be applied before it. */
export async function factsBefore(
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
