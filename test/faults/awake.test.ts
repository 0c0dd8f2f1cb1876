import { describe, expect, test } from 'vitest'
import { guardFaults, incidentFaults, type Span, without } from './awake.ts'

/** One block a second. */
const blocks = Array.from({ length: 301 }, (_, height) => ({ height, time: 1000 * height }))

describe('a hold that the node gave back is excused', () => {
  const holds = (reason: 'node' | 'last-height') => [
    { id: 'a', heldUntil: 200, askedBackAt: undefined, cancelled: [{ at: 0, reason, verdict: null, sentence: 'x' }] },
  ]
  const faults = (awake: readonly Span[], reason: 'node' | 'last-height' = 'node') =>
    guardFaults(holds(reason), { height: 300 }, awake, blocks)

  test('only where the market was away over the blocks of its guard', () => {
    expect(faults([{ from: 1, to: 300 }])).toHaveLength(1)
    expect(faults([{ from: 1, to: 300 }], 'last-height')).toEqual([])
    expect(faults([])).toEqual([])
    expect(faults(without([{ from: 1, to: 300 }], [{ from: 176, to: 187 }]))).toEqual([])
    // It came back with eight blocks left, or with fewer, or again and again for a moment.
    expect(faults([{ from: 180, to: 300 }])).toHaveLength(1)
    expect(faults([{ from: 181, to: 300 }])).toEqual([])
    expect(
      faults(
        without(
          [{ from: 1, to: 300 }],
          [180, 184].map((from) => ({ from, to: from })),
        ),
      ),
    ).toEqual([])
    // Its node was away before and after.
    expect(
      faults(
        without(
          [{ from: 1, to: 300 }],
          [170, 190].map((from) => ({ from, to: from + 3 })),
        ),
      ),
    ).toHaveLength(1)
  })
})

describe('a hold that was to go back for another reason is not left to its node', () => {
  /** Its node gives it back at 188 by itself. */
  const faults = (askedAt: number, backAt: number, awake: readonly Span[] = [{ from: 1, to: 300 }]) => {
    const cancelled = [{ at: 1000 * backAt, reason: 'released', verdict: null, sentence: 'x' } as const]
    return guardFaults([{ id: 'a', heldUntil: 200, askedBackAt: 1000 * askedAt, cancelled }], { height: 300 }, awake, blocks)
  }

  test('whoever had the time gives it back before that', () => {
    expect(faults(100, 101)).toEqual([])
    expect(faults(100, 187)).toEqual([])
    expect(faults(100, 188)).toHaveLength(1)
    expect(faults(100, 250)).toHaveLength(1)
    // Forty blocks in a row are enough, and fewer are not.
    expect(faults(148, 188)).toHaveLength(1)
    expect(faults(149, 188)).toEqual([])
  })

  test('a market that was away had none', () => {
    expect(faults(100, 188, [])).toEqual([])
    expect(faults(100, 188, [{ from: 1, to: 120 }])).toEqual([])
    expect(faults(100, 188, without([{ from: 1, to: 300 }], [{ from: 130, to: 150 }]))).toEqual([])
    expect(faults(100, 188, [{ from: 1, to: 139 }])).toHaveLength(1)
  })
})

test('an incident needs a market that was away, or a re-organisation', () => {
  const faults = (what: string, awake: readonly Span[] = [{ from: 1, to: 300 }]) =>
    incidentFaults([{ id: 'a', askedForAt: 100_000, incidents: [{ what, height: 188 }] }], awake, blocks)
  expect(faults('funding-reorged')).toEqual([])
  expect(faults('funding-spent')).toHaveLength(1)
  for (const what of ['settle-missed', 'hold-lost-while-settling']) {
    expect(faults(what)).toHaveLength(1)
    expect(faults(what, [{ from: 1, to: 138 }])).toEqual([])
  }
})
