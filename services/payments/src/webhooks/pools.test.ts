import { expect, test } from 'vitest'
import { createPools, MAX_PER_ENDPOINT, MAX_QUICK, MAX_SLOW, SLOW_AFTER_MS } from './pools.ts'

test('an endpoint begins with one call, gets one more with each success, and one alone after a failure', () => {
  const pools = createPools()
  const allowed: number[] = []
  for (const hasSucceeded of [true, true, true, true, false]) {
    allowed.push(pools.countFreeOf('a'))
    pools.end(pools.begin('a', 0), hasSucceeded, 1)
  }
  expect(allowed).toEqual([1, 2, 3, MAX_PER_ENDPOINT, MAX_PER_ENDPOINT])
  expect(pools.countFreeOf('a')).toBe(1)
})

test('an endpoint whose calls take all of its places is busy', () => {
  const pools = createPools()
  const call = pools.begin('a', 0)
  expect([pools.countFreeOf('a'), pools.listBusy()]).toEqual([0, ['a']])
  pools.end(call, true, 1)
  expect([pools.countFreeOf('a'), pools.listBusy()]).toEqual([2, []])
})

test('a call that takes too long gives its place back', () => {
  const pools = createPools()
  for (let i = 0; i < MAX_QUICK; i++) pools.begin(`hanging ${i}`, 0)
  expect(pools.countFree(SLOW_AFTER_MS - 1)).toBe(0)
  expect(pools.countFree(SLOW_AFTER_MS)).toBe(MAX_QUICK)
})

test('if too many calls are slow, only endpoints are called whose last call was quick', () => {
  const pools = createPools()
  pools.end(pools.begin('healthy', 0), true, 1)
  for (let i = 0; i < MAX_SLOW; i++) {
    pools.begin(`hanging ${i}`, 0)
    pools.countFree(SLOW_AFTER_MS)
  }
  expect(pools.countFreeOf('healthy')).toBe(2)
  expect(pools.countFreeOf('unknown')).toBe(0)
  expect(pools.countFree(SLOW_AFTER_MS)).toBe(MAX_QUICK)
})

test('never more calls are in progress than the process and each endpoint may have', () => {
  const pools = createPools()
  let seed = 7
  const draw = (count: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % count
  const calls: ReturnType<typeof pools.begin>[] = []
  for (let now = 0; now < 20_000; now += 10) {
    const id = `${draw(40)}`
    if (draw(2) === 0 && pools.countFree(now) > 0 && pools.countFreeOf(id) > 0) calls.push(pools.begin(id, now))
    else if (calls.length > 0) pools.end(calls.splice(draw(calls.length), 1)[0]!, draw(3) > 0, now)
    const counts = Map.groupBy(calls, ({ endpointId }) => endpointId)
    expect(Math.max(0, ...[...counts.values()].map(({ length }) => length))).toBeLessThanOrEqual(MAX_PER_ENDPOINT)
    expect(calls.length).toBeLessThanOrEqual(MAX_QUICK + MAX_SLOW)
  }
})
