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
    const found = ids.filter((id) => !query.except.includes(id)).slice(0, query.max)
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

test('free calls that the remembered endpoints leave go to others', async () => {
  const { due, queries } = openFixture('a', 'b')
  expect(idsOf(await due.choose([0], 1))).toEqual(['a'])
  expect(idsOf(await due.choose([0], 2))).toEqual(['a', 'b'])
  expect(queries.map(({ except }) => except)).toEqual([[], ['a']])
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
