import assert from 'node:assert/strict'
import { deadline } from '@penstock/kernel/process.ts'
import type { Timers } from '@penstock/ports/timers.ts'
import { test } from 'vitest'
import { timerIndex } from './timer-index.ts'

const lapse = (at: number) => deadline('lapse', { at }, { type: 'Lapse', data: {} })

function recorded() {
  const writes: [revision: number, steps: number][] = []
  const timers: Timers = {
    replace: async (_, __, wanted, revision) => void writes.push([revision, wanted.length]),
    due: async () => [],
    fired: async () => undefined,
    list: async () => [],
  }
  return { writes, index: timerIndex(timers, 'order') }
}

test('writes where what a stream waits for changes, and nothing else', async () => {
  const { writes, index } = recorded()
  await index.set('order-a', 0, [])
  await index.set('order-a', 1, [lapse(10)])
  await index.set('order-a', 2, [lapse(10)])
  await index.set('order-a', 3, [])
  assert.deepEqual(writes, [
    [1, 1],
    [3, 0],
  ])
})

test('a run that was overtaken does not set what the newer one took back', async () => {
  const { writes, index } = recorded()
  await index.set('order-a', 6, [lapse(20)])
  await index.set('order-a', 5, [lapse(10)])
  assert.deepEqual(writes, [[6, 1]])
})

test('sets again what another process may have changed', async () => {
  const { writes, index } = recorded()
  await index.set('order-a', 1, [lapse(10)])
  index.forget('order-a')
  await index.set('order-a', 3, [lapse(10)])
  assert.deepEqual(writes, [
    [1, 1],
    [3, 1],
  ])
})
