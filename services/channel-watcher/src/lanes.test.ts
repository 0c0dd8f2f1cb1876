import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { idleWithin, lanes } from './lanes.ts'

test('a few side by side, each id once at a time and once more for what came meanwhile', async () => {
  const begun: string[] = []
  const free = new Map<string, () => void>()
  const work = lanes(2, (id) => {
    begun.push(id)
    return new Promise((resolve) => free.set(id, resolve))
  })
  work.add(['a', 'b', 'c'])
  work.add(['a'])
  expect(begun).toEqual(['a', 'b'])
  free.get('a')?.()
  await until('the next has its lane', () => begun.length === 3)
  expect(begun[2]).toBe('c')
  free.get('c')?.()
  await until('the first is done again', () => begun.length === 4)
  expect(begun[3]).toBe('a')
  work.add(['d'])
  const stopped = work.stop()
  free.get('a')?.()
  free.get('b')?.()
  await stopped
  expect(begun).not.toContain('d')
})

/** Its sleeps end when told, or by their signal. */
function clockOf() {
  const ends: (() => void)[] = []
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      ends.push(resolve)
      signal?.addEventListener('abort', () => resolve())
    })
  return { ends, clock: { now: () => 0, monotonicMs: () => 0, sleep } }
}

test('idle are those who have nothing in hand, nor what came of it meanwhile', async () => {
  const { signal } = new AbortController()
  const free: (() => void)[] = []
  const after = lanes(1, () => new Promise((resolve) => free.push(resolve)))
  const first = lanes(1, async (id) => after.add([id]))
  const { clock } = clockOf()
  await idleWithin(clock.sleep, 5, [first, after], signal)
  first.add(['a', 'b'])
  let isIdle = false
  const idle = idleWithin(clock.sleep, 5, [first, after], signal).then(() => (isIdle = true))
  await until('the first has come through', () => free.length === 1)
  free[0]?.()
  await until('the next has its lane', () => free.length === 2)
  expect(isIdle).toBe(false)
  free[1]?.()
  await idle
})

test('nobody waits for others for ever, nor when told to stop', async () => {
  const busy = lanes(1, () => new Promise(() => undefined))
  busy.add(['a'])
  const { ends, clock } = clockOf()
  const stop = new AbortController()
  await idleWithin(clock.sleep, 0, [busy], stop.signal)
  const late = idleWithin(clock.sleep, 5, [busy], stop.signal)
  ends[0]?.()
  await late
  const stopped = idleWithin(clock.sleep, 5, [busy], stop.signal)
  stop.abort()
  await stopped
  expect(ends.length).toBe(2)
})
