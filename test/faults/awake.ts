import type { Book } from './books.ts'
import type { Block, Truth } from './truth.ts'

/** Heights between which something was so without a break. */
export type Span = { readonly from: number; readonly to: number }

/** From so many blocks before its payment ends a hold is the guard's to end, and from then on the node's. */
const GUARD_BLOCKS = 24
const NODE_BLOCKS = 12
/** A market that was up for so many blocks in a row has had the time to end a hold: each of them is told to it. */
const ENOUGH_BLOCKS = 8
/** What is asked of the node is tried again within five seconds, and a block takes 0.15 of one. */
const ENOUGH_TO_CARRY_OUT = 40

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

/** As much of these blocks as the market was up for without a break. */
const upWithin = (awake: readonly Span[], first: number, last: number): number =>
  Math.max(0, ...awake.map(({ from, to }) => Math.min(to, last) - Math.max(from, first) + 1))

/**
 * The node's own last line is never the plan: a payment that it gave back by itself is one that the guard forgot, unless
 * the market was away over the blocks in which the guard has to act. One that was to go back for another reason keeps that
 * reason, whoever gave it back: there the height tells.
 * @param awake when the market was up and its node answered @returns a sentence for each hold that was forgotten
 */
export const guardFaults = (
  books: readonly Pick<Book, 'id' | 'heldUntil' | 'cancelled' | 'askedBackAt'>[],
  { height }: Pick<Truth, 'height'>,
  awake: readonly Span[],
  blocks: readonly Block[],
): readonly string[] =>
  books.flatMap(({ id, heldUntil, cancelled, askedBackAt }) => {
    if (heldUntil === undefined) return []
    const first = heldUntil - GUARD_BLOCKS
    const last = heldUntil - NODE_BLOCKS - 1
    if (cancelled.some(({ reason }) => reason === 'node')) {
      const up = upWithin(awake, first, last)
      // Before its last line a node has no reason of its own.
      if (height > last && up < ENOUGH_BLOCKS) return []
      return [`order ${id}: the node gave its payment back by itself, and the market was up for ${up} blocks from ${first} on`]
    }
    const line = blocks.find((block) => block.height === last + 1)
    if (askedBackAt === undefined || !line || !cancelled.some(({ at }) => at >= line.time)) return []
    const asked = heightAt(blocks, askedBackAt)
    const up = upWithin(awake, asked, last)
    if (up < ENOUGH_TO_CARRY_OUT) return []
    return [
      `order ${id}: its payment was to go back from ${asked} on and went back where its node does it; the market was up for ${up} blocks`,
    ]
  })

/**
 * Nothing there takes a funding away but re-organisations, and no seller breaks what it promised; a payment is missed only
 * by a market that was away. @returns a sentence for each other incident
 */
export const incidentFaults = (
  books: readonly Pick<Book, 'id' | 'incidents' | 'askedForAt'>[],
  awake: readonly Span[],
  blocks: readonly Block[],
): readonly string[] =>
  books.flatMap(({ id, incidents, askedForAt }) =>
    incidents.flatMap(({ what, height }) => {
      if (what === 'funding-reorged') return []
      if (what !== 'settle-missed' && what !== 'hold-lost-while-settling')
        return [`order ${id}: nothing explains its incident "${what}"`]
      const asked = heightAt(blocks, askedForAt ?? 0)
      const up = upWithin(awake, asked, height)
      return up < ENOUGH_TO_CARRY_OUT
        ? []
        : [`order ${id}: "${what}", and the market was up for ${up} blocks since its payment was to be taken at ${asked}`]
    }),
  )

/** The highest that may have been known by then: times are of whole seconds. */
const heightAt = (blocks: readonly Block[], at: number): number => blocks.findLast(({ time }) => time <= at)?.height ?? 0
