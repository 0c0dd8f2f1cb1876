import { expect, test } from 'vitest'
import { dueLooks, VIEWS_EVERY } from './invariants.ts'

test('a look that cannot be taken stays due, and is taken once as soon as it can be', () => {
  const tried: number[] = []
  const counted: string[] = []
  let [now, isQuiet] = [0, true]
  const looks = dueLooks(
    () => {
      tried.push(now)
      return isQuiet
    },
    (name) => void counted.push(name),
  )
  const goTo = (step: number): void => {
    while (now < step) looks(++now)
  }
  goTo(VIEWS_EVERY)
  expect(tried).toEqual([VIEWS_EVERY])
  isQuiet = false
  goTo(2 * VIEWS_EVERY + 3)
  expect(tried.slice(1)).toEqual([0, 1, 2, 3].map((more) => 2 * VIEWS_EVERY + more))
  expect(counted).toHaveLength(1)
  isQuiet = true
  goTo(3 * VIEWS_EVERY - 1)
  expect(tried.slice(5)).toEqual([2 * VIEWS_EVERY + 4])
  expect(counted).toHaveLength(2)
  // The next one comes when it always does.
  goTo(3 * VIEWS_EVERY)
  expect(counted).toHaveLength(3)
})
