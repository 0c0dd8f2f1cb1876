import { expect, test } from 'vitest'
import type { HeightRange } from '../support/invariants/uptime.ts'
import { findCancelledByNode } from './cancelled-by-node.ts'

const SECOND = 1000
/** One block per second. */
const blocks = Array.from({ length: 300 }, (_, height) => ({ height, time: height * SECOND }))
const FULL_UPTIME: readonly HeightRange[] = [{ from: 0, to: 300 }]

const findLate = (at: number, uptime = FULL_UPTIME, reason: 'released' | 'node' = 'released', tip = 300) =>
  findCancelledByNode(
    [{ id: 'a', expiryHeight: 200, cancellations: [{ at, reason, verdict: null, sentence: 'x' }] }],
    blocks.slice(0, tip + 1),
    uptime,
  )

test('findCancelledByNode reports a payment that was cancelled at E - 12 or later, for every reason in the facts', () => {
  expect(findLate(188 * SECOND)).toHaveLength(1)
  expect(findLate(250 * SECOND)).toHaveLength(1)
  expect(findLate(188 * SECOND, FULL_UPTIME, 'node')).toHaveLength(1)
  expect(findLate(188 * SECOND - 1)).toEqual([])
  // The chain has not reached E - 12, where the node cancels.
  expect(findLate(187 * SECOND, FULL_UPTIME, 'released', 187)).toEqual([])
})

test('findCancelledByNode omits a payment if the market was up for fewer than 8 blocks before E - 12', () => {
  expect(findLate(188 * SECOND, [])).toEqual([])
  const downBetween = (until: number): readonly HeightRange[] => [{ from: until, to: 300 }]
  expect(findLate(188 * SECOND, downBetween(180))).toHaveLength(1)
  expect(findLate(188 * SECOND, downBetween(181))).toEqual([])
})

test('findCancelledByNode omits an unpaid invoice and a payment that is still held', () => {
  const one = { at: 250 * SECOND, reason: 'expired', verdict: null, sentence: 'x' } as const
  expect(findCancelledByNode([{ id: 'a', expiryHeight: undefined, cancellations: [one] }], blocks, FULL_UPTIME)).toEqual([])
  expect(findCancelledByNode([{ id: 'a', expiryHeight: 200, cancellations: [] }], blocks, FULL_UPTIME)).toEqual([])
})
