import { describe, expect, test } from 'vitest'
import { guardFaults, type Span, without } from './awake.ts'

describe('a hold that the node gave back is excused', () => {
  const holds = (reason: 'node' | 'last-height') => [
    { id: 'a', heldUntil: 200, cancelled: [{ at: 0, reason, verdict: null, sentence: 'x' }] },
  ]
  const faults = (awake: readonly Span[], reason: 'node' | 'last-height' = 'node') =>
    guardFaults(holds(reason), { height: 300 }, awake)

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
