import assert from 'node:assert/strict'
import { deadline } from '@penstock/kernel/process.ts'
import type { Timers } from '@penstock/ports/timers.ts'
import { test } from 'vitest'
import { createTimerIndex } from './timer-index.ts'

const lapse = (at: number) => deadline('lapse', { at }, { type: 'Lapse', data: {} })

function createIndex() {
  const writes: [revision: number, steps: number][] = []
  const previous: (readonly string[] | undefined)[] = []
  const timers: Timers = {
    replace: async (_, __, wanted, revision, previousSteps) => {
      writes.push([revision, wanted.length])
      previous.push(previousSteps)
    },
    due: async () => [],
    markFired: async () => undefined,
    list: async () => [],
  }
  return { writes, previous, index: createTimerIndex(timers, 'order') }
}

test('timers are written only when the deadlines of a stream change', async () => {
  const { writes, index } = createIndex()
  await index.set('order-a', 0, [])
  await index.set('order-a', 1, [lapse(10)])
  await index.set('order-a', 2, [lapse(10)])
  await index.set('order-a', 3, [])
  assert.deepEqual(writes, [
    [1, 1],
    [3, 0],
  ])
})

test('a run at an older revision does not overwrite the deadlines of a newer revision', async () => {
  const { writes, index } = createIndex()
  await index.set('order-a', 6, [lapse(20)])
  await index.set('order-a', 5, [lapse(10)])
  assert.deepEqual(writes, [[6, 1]])
})

test('the deadlines of a forgotten stream are written again', async () => {
  const { writes, index } = createIndex()
  await index.set('order-a', 1, [lapse(10)])
  index.forget('order-a')
  await index.set('order-a', 3, [lapse(10)])
  assert.deepEqual(writes, [
    [1, 1],
    [3, 1],
  ])
})

test('a deadline that was set passes once, by the clock or by the height', async () => {
  const { index } = createIndex()
  await index.set('order-a', 1, [lapse(2500), deadline('expire', { height: 7 }, { type: 'Lapse', data: {} })])
  assert.equal(index.hasPassed(2999, 6), false)
  assert.equal(index.hasPassed(3000, undefined), true)
  assert.equal(index.hasPassed(4000, 6), false)
  assert.equal(index.hasPassed(4000, 8), true)
  assert.equal(index.hasPassed(9000, 9), false)
  await index.set('order-b', 1, [lapse(2500)])
  assert.equal(index.hasPassed(9000, 9), true)
})

test('a write that overtakes another names the steps of both as previous', async () => {
  const { previous, index } = createIndex()
  await index.set('order-a', 1, [lapse(10)])
  await Promise.all([
    index.set('order-a', 2, [deadline('expire', { at: 20 }, { type: 'Lapse', data: {} })]),
    index.set('order-a', 3, [lapse(30)]),
  ])
  await index.set('order-a', 4, [])
  assert.deepEqual(previous, [undefined, ['lapse'], ['lapse', 'expire'], ['lapse']])
})
