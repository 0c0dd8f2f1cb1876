import { describe, expect, test } from 'vitest'
import { checkGuard, checkIncidents, type HeightRange, subtractRanges } from './uptime.ts'

/** One block per second. */
const blocks = Array.from({ length: 301 }, (_, height) => ({ height, time: 1000 * height }))

describe('checkGuard accepts a hold that the node itself cancelled', () => {
  const holds = (reason: 'node' | 'last-height') => [
    {
      id: 'a',
      expiryHeight: 200,
      cancelRequestedAt: undefined,
      cancellations: [{ at: 0, reason, verdict: null, sentence: 'x' }],
    },
  ]
  const listViolations = (uptime: readonly HeightRange[], reason: 'node' | 'last-height' = 'node') =>
    checkGuard(holds(reason), { height: 300 }, uptime, blocks)

  test('only if the market was not up for 8 consecutive blocks between E - 24 and E - 12', () => {
    expect(listViolations([{ from: 1, to: 300 }])).toHaveLength(1)
    expect(listViolations([{ from: 1, to: 300 }], 'last-height')).toEqual([])
    expect(listViolations([])).toEqual([])
    expect(listViolations(subtractRanges([{ from: 1, to: 300 }], [{ from: 176, to: 187 }]))).toEqual([])
    // The market restarts with eight blocks left, with seven blocks left, or is up for shorter ranges.
    expect(listViolations([{ from: 180, to: 300 }])).toHaveLength(1)
    expect(listViolations([{ from: 181, to: 300 }])).toEqual([])
    expect(
      listViolations(
        subtractRanges(
          [{ from: 1, to: 300 }],
          [180, 184].map((from) => ({ from, to: from })),
        ),
      ),
    ).toEqual([])
    // The market's node is down only before and after the guard's blocks.
    expect(
      listViolations(
        subtractRanges(
          [{ from: 1, to: 300 }],
          [170, 190].map((from) => ({ from, to: from + 3 })),
        ),
      ),
    ).toHaveLength(1)
  })
})

describe('checkGuard', () => {
  /** The node itself cancels the hold at height 188. */
  const listViolations = (requestedAt: number, cancelledAt: number, uptime: readonly HeightRange[] = [{ from: 1, to: 300 }]) => {
    const cancellations = [{ at: 1000 * cancelledAt, reason: 'released', verdict: null, sentence: 'x' } as const]
    return checkGuard(
      [{ id: 'a', expiryHeight: 200, cancelRequestedAt: 1000 * requestedAt, cancellations }],
      { height: 300 },
      uptime,
      blocks,
    )
  }

  test('reports a requested cancellation that the node did at E - 12, if the market was up for 40 blocks', () => {
    expect(listViolations(100, 101)).toEqual([])
    expect(listViolations(100, 187)).toEqual([])
    expect(listViolations(100, 188)).toHaveLength(1)
    expect(listViolations(100, 250)).toHaveLength(1)
    // Between the request and E - 12 there are 40 blocks, and then 39 blocks.
    expect(listViolations(148, 188)).toHaveLength(1)
    expect(listViolations(149, 188)).toEqual([])
  })

  test('accepts a requested cancellation that the node did, if the market was down', () => {
    expect(listViolations(100, 188, [])).toEqual([])
    expect(listViolations(100, 188, [{ from: 1, to: 120 }])).toEqual([])
    expect(listViolations(100, 188, subtractRanges([{ from: 1, to: 300 }], [{ from: 130, to: 150 }]))).toEqual([])
    expect(listViolations(100, 188, [{ from: 1, to: 139 }])).toHaveLength(1)
  })
})

test('checkIncidents accepts only a re-organisation, and a missed settlement of a market that was down', () => {
  const listViolations = (incident: string, uptime: readonly HeightRange[] = [{ from: 1, to: 300 }]) =>
    checkIncidents([{ id: 'a', settlementStartedAt: 100_000, incidents: [{ what: incident, height: 188 }] }], uptime, blocks)
  expect(listViolations('funding-reorged')).toEqual([])
  expect(listViolations('funding-spent')).toHaveLength(1)
  for (const incident of ['settle-missed', 'hold-lost-while-settling']) {
    expect(listViolations(incident)).toHaveLength(1)
    expect(listViolations(incident, [{ from: 1, to: 138 }])).toEqual([])
  }
})
