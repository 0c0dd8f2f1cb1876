import { expect, test } from 'vitest'
import type { Span } from '../faults/awake.ts'
import { leftToTheNode } from './given-back.ts'

const SECOND = 1000
/** One block a second. */
const blocks = Array.from({ length: 300 }, (_, height) => ({ height, time: height * SECOND }))
const all: readonly Span[] = [{ from: 0, to: 300 }]

const faults = (at: number, awake = all, reason: 'released' | 'node' = 'released', tip = 300) =>
  leftToTheNode(
    [{ id: 'a', heldUntil: 200, cancelled: [{ at, reason, verdict: null, sentence: 'x' }] }],
    blocks.slice(0, tip + 1),
    awake,
  )

test('a payment that went back twelve blocks before its end or later was left to its node, whatever the facts give as reason', () => {
  expect(faults(188 * SECOND)).toHaveLength(1)
  expect(faults(250 * SECOND)).toHaveLength(1)
  expect(faults(188 * SECOND, all, 'node')).toHaveLength(1)
  expect(faults(188 * SECOND - 1)).toEqual([])
  // The node has not come to its line yet.
  expect(faults(187 * SECOND, all, 'released', 187)).toEqual([])
})

test('a market that was not up before that line has forgotten nothing', () => {
  expect(faults(188 * SECOND, [])).toEqual([])
  const away = (until: number): readonly Span[] => [{ from: until, to: 300 }]
  expect(faults(188 * SECOND, away(180))).toHaveLength(1)
  expect(faults(188 * SECOND, away(181))).toEqual([])
})

test('an invoice that nobody paid, and one that is held still, went back nowhere', () => {
  const one = { at: 250 * SECOND, reason: 'expired', verdict: null, sentence: 'x' } as const
  expect(leftToTheNode([{ id: 'a', heldUntil: undefined, cancelled: [one] }], blocks, all)).toEqual([])
  expect(leftToTheNode([{ id: 'a', heldUntil: 200, cancelled: [] }], blocks, all)).toEqual([])
})
