import { HOLD_EXPIRY_DELTA } from '@penstock/adapters/simnet/invoices.ts'
import type { Span } from '../faults/awake.ts'
import type { Book } from '../faults/books.ts'
import type { Block } from '../faults/truth.ts'

/** A market that was up for so many blocks has had the time to take up what a dead one left: it looks at its start. */
const ENOUGH_BLOCKS = 8

/**
 * Payments that their node gave back at its own last line, whatever reason the facts have: one that the market was asked for
 * keeps that reason, also where nobody carried it out. No story takes so long by itself.
 * @param awake when the market was up @returns a sentence for each
 */
export const leftToTheNode = (
  books: readonly Pick<Book, 'id' | 'heldUntil' | 'cancelled'>[],
  blocks: readonly Block[],
  awake: readonly Span[],
): readonly string[] => {
  const times = new Map(blocks.map(({ height, time }) => [height, time]))
  return books.flatMap(({ id, heldUntil = Number.POSITIVE_INFINITY, cancelled }) => {
    const line = heldUntil - HOLD_EXPIRY_DELTA
    const isLate = cancelled.some(({ at }) => at >= (times.get(line) ?? Number.POSITIVE_INFINITY))
    const up = awake.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to + 1, line) - from), 0)
    if (!isLate || up < ENOUGH_BLOCKS) return []
    return [
      `order ${id}: its payment went back at height ${line} or later, where its node does it by itself; the market forgot it`,
    ]
  })
}
