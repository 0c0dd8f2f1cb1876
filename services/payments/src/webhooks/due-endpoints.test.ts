import type { DueEndpoint, DueQuery } from '@penstock/ports/deliveries.ts'
import { expect, test } from 'vitest'
import { createDueEndpoints } from './due-endpoints.ts'
import { createPools } from './pools.ts'

/** A queue that finds the given endpoints, and a clock that a test sets. */
function openFixture(...ids: readonly string[]) {
  const queries: DueQuery[] = []
  let now = 0
  const findDue = (query: DueQuery): Promise<readonly DueEndpoint[]> => {
    queries.push(query)
    const found = ids.filter((id) => id > query.after && !query.except.includes(id)).slice(0, query.max)
    return Promise.resolve(found.map((id) => ({ id, urlRecord: id, secrets: [], failingSince: null })))
  }
  const pools = createPools()
  const due = createDueEndpoints({ deliveries: { findDue }, clock: { now: () => now, monotonicMs: () => now } }, pools)
  return { due, pools, queries, wait: (ms: number) => (now += ms) }
}
const idsOf = (requests: readonly { readonly endpointId: string }[]) => requests.map(({ endpointId }) => endpointId)

test('a search that filled all free calls serves the next choices for a tenth of a second', async () => {
  const { due, queries, wait } = openFixture('a', 'b')
  expect(await due.choose([0], 2)).toMatchObject([
    { endpointId: 'a', endpoint: { id: 'a' }, count: 1 },
    { endpointId: 'b', endpoint: { id: 'b' }, count: 1 },
  ])
  wait(99)
  expect(idsOf(await due.choose([0], 2))).toEqual(['a', 'b'])
  expect(queries).toHaveLength(1)
  wait(1)
  expect(idsOf(await due.choose([0], 2))).toEqual(['a', 'b'])
  expect(queries).toHaveLength(2)
})

test('a search goes on where the last one ended, and free calls that the remembered endpoints leave go to others', async () => {
  const ids = Array.from({ length: 70 }, (_, i) => `${i + 10}`)
  const { due, queries, wait } = openFixture(...ids)
  expect(idsOf(await due.choose([0], 9))).toEqual(ids.slice(0, 9))
  wait(100)
  expect(idsOf(await due.choose([0], 9))).toEqual(ids.slice(64))
  expect(idsOf(await due.choose([0], 9))).toEqual([...ids.slice(64), ...ids.slice(0, 3)])
  expect(queries.map(({ after, except }) => [after, except])).toEqual([
    ['', []],
    ['73', []],
    ['', ids.slice(64)],
  ])
})

test('an endpoint that had less to begin than requested is forgotten', async () => {
  const { due, queries } = openFixture('a')
  const requests = await due.choose([0], 1)
  due.forgetIdle(requests, [])
  await due.choose([0], 1)
  expect(queries).toHaveLength(2)
})

test('the search passes over endpoints whose calls take all of their places', async () => {
  const { due, pools } = openFixture('hanging', 'healthy')
  pools.begin('hanging', 0)
  expect(idsOf(await due.choose([0], 1))).toEqual(['healthy'])
})

/** Calls of an endpoint that always has another delivery due, each of so many milliseconds. */
type Load = { readonly count: number; readonly callMs: number }

/** Runs a sender with endpoints under load, and then one more. @returns the milliseconds until the first call of the last one */
async function waitForFresh({ count, callMs }: Load): Promise<number> {
  const ids = Array.from({ length: count }, (_, i) => `loaded-${String(i).padStart(4, '0')}`)
  const { due, pools, wait } = openFixture(...ids, 'x-fresh')
  const calls = new Map<ReturnType<typeof pools.begin>, number>()
  const [beginsAt, stepMs] = [50_000, 25]
  for (let now = 0; now < beginsAt + 60_000; now += stepMs, wait(stepMs)) {
    for (const [call, endsAt] of calls)
      if (endsAt <= now) {
        calls.delete(call)
        pools.end(call, callMs < 15_000, now)
      }
    const free = pools.countFree(now)
    if (free === 0) continue
    for (const { endpointId, count: calling } of await due.choose([0], free)) {
      if (endpointId === 'x-fresh' && now >= beginsAt) return now - beginsAt
      for (let i = 0; i < calling && endpointId !== 'x-fresh'; i++) calls.set(pools.begin(endpointId, now), now + callMs)
    }
  }
  return Number.POSITIVE_INFINITY
}

test.each<Load>([
  { count: 20, callMs: 850 },
  { count: 20, callMs: 200 },
  { count: 200, callMs: 300 },
  { count: 250, callMs: 15_000 },
  { count: 400, callMs: 15_000 },
])('an endpoint waits at most a second for $count others with long queues and calls of $callMs ms', async (load) => {
  expect(await waitForFresh(load)).toBeLessThanOrEqual(1000)
})
