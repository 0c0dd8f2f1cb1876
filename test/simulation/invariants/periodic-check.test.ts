import { expect, test } from 'vitest'
import { createPeriodicCheck, VIEW_CHECK_STEPS } from './invariants.ts'

test('createPeriodicCheck runs a check once per interval, and retries an impossible check at each step', () => {
  const attempts: number[] = []
  const counted: string[] = []
  let [now, isPossible] = [0, true]
  const check = createPeriodicCheck(
    () => {
      attempts.push(now)
      return isPossible
    },
    (name) => void counted.push(name),
  )
  const goTo = (step: number): void => {
    while (now < step) check(++now)
  }
  goTo(VIEW_CHECK_STEPS)
  expect(attempts).toEqual([VIEW_CHECK_STEPS])
  isPossible = false
  goTo(2 * VIEW_CHECK_STEPS + 3)
  expect(attempts.slice(1)).toEqual([0, 1, 2, 3].map((offset) => 2 * VIEW_CHECK_STEPS + offset))
  expect(counted).toHaveLength(1)
  isPossible = true
  goTo(3 * VIEW_CHECK_STEPS - 1)
  expect(attempts.slice(5)).toEqual([2 * VIEW_CHECK_STEPS + 4])
  expect(counted).toHaveLength(2)
  // The delay of one check does not delay the next check.
  goTo(3 * VIEW_CHECK_STEPS)
  expect(counted).toHaveLength(3)
})
