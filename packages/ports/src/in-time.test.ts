import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { inTime, wallInstantOf } from './in-time.ts'

const NOW = 1_795_000_000_000
const HOUR_MS = 3_600_000

test.each([0, HOUR_MS, -HOUR_MS])(
  'how late it is, is told by the monotonic clock, though the wall clock jumps by %d ms',
  (jumpMs) => {
    const at = (monotonicMs: number) => ({ now: () => NOW + jumpMs, monotonicMs: () => monotonicMs })
    expect(() => inTime(at(5000), 5000)).not.toThrow()
    expect(() => inTime(at(5001), 5000)).toThrow(Fault)
  },
)

test('other processes are told of a time limit by the wall clock', () => {
  expect(wallInstantOf({ now: () => NOW, monotonicMs: () => 5000 }, 5750)).toBe(NOW + 750)
})
