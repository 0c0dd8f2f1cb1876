import assert from 'node:assert/strict'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { test } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { groupLag } from './group-lag.ts'

function lagAt(start: number) {
  let now = start
  const lag = groupLag({ ...systemClock, now: jumpingWall(() => now), monotonicMs: () => now })
  return { lag, pass: (ms: number) => void (now += ms) }
}
const state = (partition: number, low: number, high: number, place: number | undefined) => ({ partition, low, high, place })

test('what was never measured is not known', () => {
  const { lag } = lagAt(0)
  assert.equal(lag.behind(), undefined)
  assert.equal(lag.standingSeconds(), undefined)
})

test('messages behind are counted from the place of the group, or from where the log begins', () => {
  const { lag } = lagAt(0)
  lag.note([state(0, 0, 10, 10), state(1, 0, 10, 4), state(2, 5, 10, undefined), state(3, 5, 10, 2), state(4, 7, 7, undefined)])
  assert.equal(lag.behind(), 6 + 5 + 5)
})

test('the time of a place runs while messages wait behind it, and begins anew when it moves', () => {
  const { lag, pass } = lagAt(1000)
  lag.note([state(0, 0, 10, 4), state(1, 0, 10, 4)])
  pass(30_000)
  lag.note([state(0, 0, 20, 4), state(1, 0, 20, 5)])
  pass(10_000)
  assert.equal(lag.standingSeconds(), 40)
  lag.note([state(0, 0, 20, 20), state(1, 0, 20, 5)])
  assert.equal(lag.standingSeconds(), 10)
  lag.note([state(0, 0, 20, 20), state(1, 0, 20, 20)])
  assert.equal(lag.standingSeconds(), 0)
  // What comes now has waited for no time, however long the place is the same.
  pass(60_000)
  lag.note([state(0, 0, 21, 20), state(1, 0, 20, 20)])
  assert.equal(lag.standingSeconds(), 0)
})

test('a figure that nobody can renew is shown no more, and what stood still then goes on to stand still', () => {
  const { lag, pass } = lagAt(0)
  lag.note([state(0, 0, 10, 4)])
  pass(59_000)
  assert.equal(lag.behind(), 6)
  pass(2000)
  assert.equal(lag.behind(), undefined)
  assert.equal(lag.standingSeconds(), 61)
})
