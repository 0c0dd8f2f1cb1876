import { expect, test } from 'vitest'
import { restingLeases } from './resting.ts'

/** A clock that a test moves; whoever sleeps wakes when his time has come. */
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

function leases() {
  const clock = clockOf()
  const told: (readonly string[])[] = []
  const stop = new AbortController()
  const resting = restingLeases(clock, stop.signal, (ids) => void (ids.length > 0 && told.push(ids)))
  return { clock, told, stop, resting }
}

test('blocks that come fast are no reason to look, and the last of them is looked at all the same', async () => {
  const { clock, told, resting } = leases()
  resting.keep('a', 900)
  for (let height = 1; height <= 3; height++) {
    await clock.pass(1000)
    resting.see(height)
  }
  expect(told).toEqual([])
  await clock.pass(5000)
  expect(told).toEqual([['a']])
  resting.keep('a', 900)
  await clock.pass(60_000)
  expect(told).toHaveLength(1)
})

test('on blocks that come slowly each is looked at, those first that have waited longest', async () => {
  const { clock, told, resting } = leases()
  for (const id of ['a', 'b', 'c']) resting.keep(id, 900)
  resting.keep('a', 900)
  await clock.pass(600_000)
  resting.see(1)
  expect(told).toEqual([['b', 'c', 'a']])
})

test('at its last block a lease does not rest any longer', async () => {
  const { clock, told, resting } = leases()
  resting.keep('a', 10)
  resting.keep('b', 900)
  await clock.pass(500)
  resting.see(10)
  expect(told).toEqual([['a']])
})

test('what is looked at, is over, or comes after the end is forgotten', async () => {
  const { clock, told, stop, resting } = leases()
  for (const id of ['a', 'b', 'c']) resting.keep(id, 900)
  resting.wake('a')
  resting.retain(new Set(['b']))
  expect(['a', 'b', 'c'].map(resting.has)).toEqual([false, true, false])
  await clock.pass(1000)
  resting.see(1)
  stop.abort()
  await clock.pass(60_000)
  expect(told).toEqual([])
})
