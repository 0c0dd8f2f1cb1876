import { expect, test } from 'vitest'
import {
  createPools,
  MAX_OF_SLOW,
  MAX_PER_ENDPOINT,
  MAX_QUICK,
  MAX_SLOW,
  MAX_UNPROVEN,
  type Pools,
  SLOW_AFTER_MS,
} from './pools.ts'

const countFreeOf = (pools: Pools, id: string): number => pools.share([id], MAX_QUICK).get(id) ?? 0

test('an endpoint begins with one call, gets one more with each success, and one alone after a failure', () => {
  const pools = createPools()
  const allowed: number[] = []
  for (const hasSucceeded of [true, true, true, true, false]) {
    allowed.push(countFreeOf(pools, 'a'))
    pools.end(pools.begin('a', 0), hasSucceeded, 1)
  }
  expect(allowed).toEqual([1, 2, 3, MAX_PER_ENDPOINT, MAX_PER_ENDPOINT])
  expect(countFreeOf(pools, 'a')).toBe(1)
})

test('an endpoint whose calls take all of its places is busy', () => {
  const pools = createPools()
  const call = pools.begin('a', 0)
  expect([countFreeOf(pools, 'a'), pools.listBusy()]).toEqual([0, ['a']])
  pools.end(call, true, 1)
  expect([countFreeOf(pools, 'a'), pools.listBusy()]).toEqual([2, []])
})

test('a call that takes too long gives its place back', () => {
  const pools = createPools()
  for (let i = 0; i < MAX_QUICK; i++) pools.begin(`hanging ${i}`, 0)
  expect(pools.countFree(SLOW_AFTER_MS - 1)).toBe(0)
  expect(pools.countFree(SLOW_AFTER_MS)).toBe(MAX_QUICK)
})

/** Begins calls that hang, each to an endpoint of its own, and waits until they are slow. */
function hang(pools: Pools, prefix: string, count: number, now: number): ReturnType<Pools['begin']>[] {
  return Array.from({ length: count }, (_, i) => {
    const call = pools.begin(`${prefix} ${i}`, now)
    pools.countFree(now + SLOW_AFTER_MS)
    return call
  })
}

test('endpoints without an earlier call leave slow places for endpoints whose last call was quick', () => {
  const pools = createPools()
  pools.end(pools.begin('healthy', 0), true, 1)
  hang(pools, 'hanging', MAX_UNPROVEN, 2)
  expect([countFreeOf(pools, 'healthy'), countFreeOf(pools, 'new')]).toEqual([2, 0])
  expect(pools.countFree(2 + SLOW_AFTER_MS)).toBe(MAX_QUICK)
})

test('endpoints whose last call was slow leave places for endpoints without an earlier call', () => {
  const pools = createPools()
  for (const call of hang(pools, 'hanging', MAX_OF_SLOW + 1, 0)) pools.end(call, false, 15_000)
  hang(pools, 'hanging', MAX_OF_SLOW, 20_000)
  expect(countFreeOf(pools, `hanging ${MAX_OF_SLOW}`)).toBe(0)
  expect(countFreeOf(pools, 'new')).toBe(1)
  const ids = Array.from({ length: MAX_QUICK + 1 }, (_, i) => `new ${i}`)
  expect(pools.share(ids, MAX_QUICK).size).toBe(MAX_QUICK / 2)
  hang(pools, 'new', MAX_UNPROVEN - MAX_OF_SLOW, 22_000)
  expect(countFreeOf(pools, 'another')).toBe(0)
})

test('each endpoint gets one call before any gets more, and the longest without a call comes first', () => {
  const pools = createPools()
  for (const [at, id] of ['a', 'b', 'c'].entries()) {
    pools.end(pools.begin(id, at), true, at)
    pools.end(pools.begin(id, at + 10), true, at + 10)
  }
  const call = pools.begin('a', 20)
  expect([...pools.share(['a', 'b', 'c', 'new'], 2)]).toEqual([
    ['new', 1],
    ['b', 1],
  ])
  expect(pools.share(['a', 'b', 'c'], 64)).toEqual(new Map(Object.entries({ a: 2, b: 3, c: 3 })))
  pools.end(call, true, 21)
  expect([...pools.share(['a', 'b', 'c'], 2).keys()]).toEqual(['b', 'c'])
})

test('never more calls are in progress than the process and each endpoint may have', () => {
  const pools = createPools()
  let seed = 7
  const draw = (count: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % count
  const calls: ReturnType<typeof pools.begin>[] = []
  for (let now = 0; now < 20_000; now += 10) {
    const id = `${draw(40)}`
    if (draw(2) === 0 && pools.countFree(now) > 0 && countFreeOf(pools, id) > 0) calls.push(pools.begin(id, now))
    else if (calls.length > 0) pools.end(calls.splice(draw(calls.length), 1)[0]!, draw(3) > 0, now)
    const counts = Map.groupBy(calls, ({ endpointId }) => endpointId)
    expect(Math.max(0, ...[...counts.values()].map(({ length }) => length))).toBeLessThanOrEqual(MAX_PER_ENDPOINT)
    expect(calls.length).toBeLessThanOrEqual(MAX_QUICK + MAX_SLOW)
  }
})
