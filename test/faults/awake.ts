import type { Book } from './books.ts'
import type { Truth } from './truth.ts'

/** Heights between which something was so without a break. */
export type Span = { readonly from: number; readonly to: number }

/** From so many blocks before its payment ends a hold is the guard's to end, and from then on the node's. */
const GUARD_BLOCKS = 24
const NODE_BLOCKS = 12
/** A market that was up for so many blocks in a row has had the time to end a hold: each of them is told to it. */
const ENOUGH_BLOCKS = 8

/** What is left of spans where others are taken out, their ends included. */
export const without = (spans: readonly Span[], others: readonly Span[]): readonly Span[] =>
  others.reduce(
    (left, other) =>
      left.flatMap(({ from, to }) =>
        [
          { from, to: Math.min(to, other.from - 1) },
          { from: Math.max(from, other.to + 1), to },
        ].filter((piece) => piece.from <= piece.to),
      ),
    spans,
  )

/**
 * The node's own last line is never the plan: a payment that it gave back by itself is one that the guard forgot, unless
 * the market was away over the blocks in which the guard has to act.
 * @param awake when the market was up and its node answered @returns a sentence for each hold that was forgotten
 */
export const guardFaults = (
  books: readonly Pick<Book, 'id' | 'heldUntil' | 'cancelled'>[],
  { height }: Pick<Truth, 'height'>,
  awake: readonly Span[],
): readonly string[] =>
  books.flatMap(({ id, heldUntil, cancelled }) => {
    if (heldUntil === undefined || !cancelled.some(({ reason }) => reason === 'node')) return []
    const first = heldUntil - GUARD_BLOCKS
    const last = heldUntil - NODE_BLOCKS - 1
    const blocks = Math.max(0, ...awake.map(({ from, to }) => Math.min(to, last) - Math.max(from, first) + 1))
    // Before its last line a node has no reason of its own.
    if (height > last && blocks < ENOUGH_BLOCKS) return []
    return [`order ${id}: the node gave its payment back by itself, and the market was up for ${blocks} blocks from ${first} on`]
  })
