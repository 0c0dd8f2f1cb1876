import { Bug, must } from '@penstock/kernel/result.ts'
import type { Appended, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'

/** Where an event was found, for the answer to an append whose revision does not fit. */
export type Found = { readonly id: string; readonly revision: number; readonly position: bigint }

export const firstRevision = (expected: ExpectedRevision): number => (expected === 'none' ? 0 : expected + 1)

/** What every store asks of a batch before it looks at the stream. */
export function checkBatch(stream: string, events: readonly NewEvent[]): void {
  must(/^[^-]+-./s.test(stream), `a stream is named <category>-<id>, not "${stream}"`)
  must(events.length > 0, `an append to ${stream} without events`)
  if (events.length > 1)
    must(new Set(events.map(({ id }) => id)).size === events.length, `an append to ${stream} repeats an event id`)
}

/**
 * The answer where the expected revision is not the stream's: a first success is repeated, somebody else's is a conflict.
 * @param found those events of the batch that the stream has, wherever it has them
 * @throws Bug where only some are stored, or at other revisions
 */
export function answerMismatch(
  expected: ExpectedRevision,
  actual: ExpectedRevision,
  events: readonly NewEvent[],
  found: readonly Found[],
): Appended {
  if (found.length === 0) return { outcome: 'conflict', revision: actual }
  const first = firstRevision(expected)
  const placed = new Map(found.map((event) => [event.id, event]))
  const same = events.every(({ id }, index) => placed.get(id)?.revision === first + index)
  const last = placed.get(events.at(-1)?.id ?? '')
  if (!same || !last)
    throw new Bug(`${found.length} of ${events.length} events of an append are stored already, and not all at their revision`)
  return { outcome: 'appended', revision: last.revision, position: last.position }
}
