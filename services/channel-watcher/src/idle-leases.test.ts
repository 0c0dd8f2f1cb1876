import { expect, test } from 'vitest'
import { trackIdleLeases } from './idle-leases.ts'

/** A clock that the test advances; it ends each sleep that is due. */
function clockOf() {
  let now = 100_000
  const sleepers: { readonly until: number; readonly wake: () => void }[] = []
  return {
    now: () => now,
    monotonicMs: () => now,
    sleep: (ms: number) => new Promise<void>((wake) => sleepers.push({ until: now + ms, wake })),
    async pass(ms: number) {
      now += ms
      for (const { until, wake } of sleepers.splice(0)) {
        if (until <= now) wake()
        else sleepers.push({ until, wake })
      }
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

function openFixture() {
  const clock = clockOf()
  const reported: (readonly string[])[] = []
  const stop = new AbortController()
  const idleLeases = trackIdleLeases(clock, stop.signal, (ids) => void (ids.length > 0 && reported.push(ids)))
  return { clock, reported, stop, idleLeases }
}

test('fast blocks report a lease only after the minimum idle time, and then once', async () => {
  const { clock, reported, idleLeases } = openFixture()
  idleLeases.add('a', 900)
  for (let height = 1; height <= 3; height++) {
    await clock.pass(1000)
    idleLeases.onBlock(height)
  }
  expect(reported).toEqual([])
  await clock.pass(60_000)
  expect(reported).toEqual([['a']])
  idleLeases.add('a', 900)
  await clock.pass(60_000)
  expect(reported).toHaveLength(1)
})

test('the timer reports a lease as soon as it is due, although another lease was due before', async () => {
  const { clock, reported, idleLeases } = openFixture()
  idleLeases.add('a', 900)
  await clock.pass(30_000)
  idleLeases.add('b', 900)
  await clock.pass(1000)
  idleLeases.onBlock(1)
  await clock.pass(29_000)
  expect(reported).toEqual([['a']])
  idleLeases.remove('a')
  await clock.pass(30_000)
  expect(reported).toEqual([['a'], ['b']])
})

test('with more leases each is due less often, up to ten minutes after it was observed', async () => {
  const { clock, reported, idleLeases } = openFixture()
  for (let n = 0; n < 240; n++) idleLeases.add(`${n}`, 900)
  await clock.pass(119_000)
  idleLeases.onBlock(1)
  expect(reported).toEqual([])
  await clock.pass(15_000)
  expect(reported.flat()).toHaveLength(240)
  for (let n = 0; n < 5000; n++) idleLeases.add(`${n}`, 900)
  reported.splice(0)
  await clock.pass(599_000)
  idleLeases.onBlock(2)
  expect(reported).toEqual([])
  await clock.pass(1000)
  idleLeases.onBlock(3)
  expect(reported.flat()).toHaveLength(500)
})

test('a slow block reports every lease, the longest unobserved first', async () => {
  const { clock, reported, idleLeases } = openFixture()
  for (const id of ['a', 'b', 'c']) idleLeases.add(id, 900)
  idleLeases.add('a', 900)
  await clock.pass(600_000)
  idleLeases.onBlock(1)
  expect(reported).toEqual([['b', 'c', 'a']])
})

test('a lease is reported at once at its last block', async () => {
  const { clock, reported, idleLeases } = openFixture()
  idleLeases.add('a', 10)
  idleLeases.add('b', 900)
  await clock.pass(500)
  idleLeases.onBlock(10)
  expect(reported).toEqual([['a']])
})

test('a lease that was removed, or has ended, is forgotten, and no lease is reported after the abort', async () => {
  const { clock, reported, stop, idleLeases } = openFixture()
  for (const id of ['a', 'b', 'c']) idleLeases.add(id, 900)
  idleLeases.remove('a')
  idleLeases.retain(new Set(['b']))
  expect(['a', 'b', 'c'].map(idleLeases.has)).toEqual([false, true, false])
  await clock.pass(1000)
  idleLeases.onBlock(1)
  stop.abort()
  await clock.pass(60_000)
  expect(reported).toEqual([])
})
