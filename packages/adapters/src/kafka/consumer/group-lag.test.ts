import assert from 'node:assert/strict'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { createGroupLag } from './group-lag.ts'

function lagAt(start: number) {
  let now = start
  const lag = createGroupLag({ ...stillClock, now: createJumpingWallClock(() => now), monotonicMs: () => now })
  return { lag, pass: (ms: number) => void (now += ms) }
}
const partitionState = (partition: number, low: number, high: number, committedOffset: number | undefined) => ({
  partition,
  low,
  high,
  committedOffset,
})

test('the lag and its standing time are undefined before the first measurement', () => {
  const { lag } = lagAt(0)
  assert.equal(lag.messagesBehind(), undefined)
  assert.equal(lag.stalledSeconds(), undefined)
})

test('messages behind are counted from the committed offset, or from the start of the log', () => {
  const { lag } = lagAt(0)
  lag.note([
    partitionState(0, 0, 10, 10),
    partitionState(1, 0, 10, 4),
    partitionState(2, 5, 10, undefined),
    partitionState(3, 5, 10, 2),
    partitionState(4, 7, 7, undefined),
  ])
  assert.equal(lag.messagesBehind(), 6 + 5 + 5)
})

test('the standing time grows while the offset does not move, and restarts when the offset moves', () => {
  const { lag, pass } = lagAt(1000)
  lag.note([partitionState(0, 0, 10, 4), partitionState(1, 0, 10, 4)])
  pass(30_000)
  lag.note([partitionState(0, 0, 20, 4), partitionState(1, 0, 20, 5)])
  pass(10_000)
  assert.equal(lag.stalledSeconds(), 40)
  lag.note([partitionState(0, 0, 20, 20), partitionState(1, 0, 20, 5)])
  assert.equal(lag.stalledSeconds(), 10)
  lag.note([partitionState(0, 0, 20, 20), partitionState(1, 0, 20, 20)])
  assert.equal(lag.stalledSeconds(), 0)
  // A message that arrives now has not waited yet, although the offset has not moved for a minute.
  pass(60_000)
  lag.note([partitionState(0, 0, 21, 20), partitionState(1, 0, 20, 20)])
  assert.equal(lag.stalledSeconds(), 0)
})

test('a lag older than a minute is undefined, while the standing time keeps growing', () => {
  const { lag, pass } = lagAt(0)
  lag.note([partitionState(0, 0, 10, 4)])
  pass(59_000)
  assert.equal(lag.messagesBehind(), 6)
  pass(2000)
  assert.equal(lag.messagesBehind(), undefined)
  assert.equal(lag.stalledSeconds(), 61)
})

test('waiting returns the partitions with unread messages while the measurement is recent', () => {
  const { lag, pass } = lagAt(0)
  assert.deepEqual(lag.waiting(), new Map())
  lag.note([partitionState(0, 0, 10, 4), partitionState(1, 5, 10, undefined), partitionState(2, 0, 10, 10)])
  assert.deepEqual(
    lag.waiting(),
    new Map([
      [0, { offset: 4, high: 10 }],
      [1, { offset: 5, high: 10 }],
    ]),
  )
  pass(61_000)
  assert.deepEqual(lag.waiting(), new Map())
})
