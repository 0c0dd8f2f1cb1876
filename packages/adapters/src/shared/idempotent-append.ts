import { Bug, assert } from '@penstock/kernel/result.ts'
import type { AppendOutcome, ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'

/** The place of a stored event, for the answer to an append with a wrong revision. */
export type FoundEvent = { readonly id: string; readonly revision: number; readonly position: bigint }

export const firstRevision = (expected: ExpectedRevision): number => (expected === 'none' ? 0 : expected + 1)

/** Checks a batch before the store reads the stream. @throws Bug */
export function checkBatch(stream: string, events: readonly NewEvent[]): void {
  assert(/^[^-]+-./s.test(stream), `a stream is named <category>-<id>, not "${stream}"`)
  assert(events.length > 0, `an append to ${stream} has no events`)
  if (events.length > 1)
    assert(new Set(events.map(({ id }) => id)).size === events.length, `an append to ${stream} repeats an event id`)
}

/**
 * Answers an append whose expected revision does not match. A repeat of a stored append succeeds again; any other append is a
 * conflict.
 * @param found the events of the batch that the stream has, at any revision
 * @throws Bug if the stream has only some events of the batch, or has them at other revisions
 */
export function answerMismatch(
  expected: ExpectedRevision,
  actual: ExpectedRevision,
  events: readonly NewEvent[],
  found: readonly FoundEvent[],
): AppendOutcome {
  if (found.length === 0) return { outcome: 'conflict', revision: actual }
  const first = firstRevision(expected)
  const foundById = new Map(found.map((event) => [event.id, event]))
  const isRepeat = events.every(({ id }, index) => foundById.get(id)?.revision === first + index)
  const last = foundById.get(events.at(-1)?.id ?? '')
  if (!isRepeat || !last)
    throw new Bug(`${found.length} of ${events.length} events of an append are stored already, but not all at their revisions`)
  return { outcome: 'appended', revision: last.revision, position: last.position }
}
