import { Fault } from './result.ts'
import { expect, test } from 'vitest'
import { assertBeforeDeadline, toWallClock } from './deadline.ts'

const NOW = 1_795_000_000_000
const HOUR_MS = 3_600_000

test.each([0, HOUR_MS, -HOUR_MS])(
  'a deadline is compared with the monotonic clock, even if the wall clock jumps by %d ms',
  (jumpMs) => {
    const at = (monotonicMs: number) => ({ now: () => NOW + jumpMs, monotonicMs: () => monotonicMs })
    expect(() => assertBeforeDeadline(at(5000), 5000)).not.toThrow()
    expect(() => assertBeforeDeadline(at(5001), 5000)).toThrow(Fault)
  },
)

test('a deadline of the monotonic clock is converted to the wall clock for other processes', () => {
  expect(toWallClock({ now: () => NOW, monotonicMs: () => 5000 }, 5750)).toBe(NOW + 750)
})
