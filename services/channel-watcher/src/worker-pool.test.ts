import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { waitUntilIdle, createWorkerPool } from './worker-pool.ts'

test('a pool runs a limited number of tasks and one task per id, and repeats an id that was added meanwhile', async () => {
  const startedIds: string[] = []
  const finish = new Map<string, () => void>()
  const pool = createWorkerPool(2, (id) => {
    startedIds.push(id)
    return new Promise((resolve) => finish.set(id, resolve))
  })
  pool.add(['a', 'b', 'c'])
  pool.add(['a'])
  expect(startedIds).toEqual(['a', 'b'])
  finish.get('a')?.()
  await waitUntil('the next task starts', () => startedIds.length === 3)
  expect(startedIds[2]).toBe('c')
  finish.get('c')?.()
  await waitUntil('the first id runs again', () => startedIds.length === 4)
  expect(startedIds[3]).toBe('a')
  pool.add(['d'])
  const stopped = pool.stop()
  finish.get('a')?.()
  finish.get('b')?.()
  await stopped
  expect(startedIds).not.toContain('d')
})

/** A clock whose sleeps end when the test ends them, or at an abort. */
function clockOf() {
  const ends: (() => void)[] = []
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      ends.push(resolve)
      signal?.addEventListener('abort', () => resolve())
    })
  return { ends, clock: { now: () => 0, monotonicMs: () => 0, sleep } }
}

test('a wait for idle pools includes the tasks that other tasks added meanwhile', async () => {
  const { signal } = new AbortController()
  const finish: (() => void)[] = []
  const after = createWorkerPool(1, () => new Promise((resolve) => finish.push(resolve)))
  const first = createWorkerPool(1, async (id) => after.add([id]))
  const { clock } = clockOf()
  await waitUntilIdle(clock.sleep, 5, [first, after], signal)
  first.add(['a', 'b'])
  let isIdle = false
  const idle = waitUntilIdle(clock.sleep, 5, [first, after], signal).then(() => (isIdle = true))
  await waitUntil('the first id is in the second pool', () => finish.length === 1)
  finish[0]?.()
  await waitUntil('the second id is in the second pool', () => finish.length === 2)
  expect(isIdle).toBe(false)
  finish[1]?.()
  await idle
})

test('a wait for busy pools ends by its timeout and by its signal', async () => {
  const busy = createWorkerPool(1, () => new Promise(() => undefined))
  busy.add(['a'])
  const { ends, clock } = clockOf()
  const stop = new AbortController()
  await waitUntilIdle(clock.sleep, 0, [busy], stop.signal)
  const late = waitUntilIdle(clock.sleep, 5, [busy], stop.signal)
  ends[0]?.()
  await late
  const stopped = waitUntilIdle(clock.sleep, 5, [busy], stop.signal)
  stop.abort()
  await stopped
  expect(ends.length).toBe(2)
})
