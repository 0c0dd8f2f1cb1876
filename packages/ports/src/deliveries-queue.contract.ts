import { describe, expect, it } from 'vitest'
import {
  ALL_SHARDS,
  createEvent,
  endpoint,
  event,
  failed,
  interrupted,
  MAX_ATTEMPTS,
  SECOND,
  START,
  succeeded,
  type DeliveriesUnderTest,
} from './deliveries.fixture.ts'

/** Cases of the attempts that a sender begins and ends. */
export function deliveriesQueueCases(open: () => DeliveriesUnderTest): void {
  describe('due endpoints', () => {
    it('are found in the order of their ids, from any of them on', async () => {
      const { deliveries, queue } = open()
      await queue.record(...['a', 'b', 'c', 'idle'].map((id) => endpoint(id)))
      await queue.record(event('e1', ['b'], { createdAt: START + 1 }), event('e2', ['a'], { createdAt: START + 2 }))
      await queue.record(event('e3', ['b', 'c'], { createdAt: START + 3 }))
      expect(await queue.findDueIds(START)).toEqual([])
      expect(await queue.findDueIds(START + 1)).toEqual(['b'])
      expect(await queue.findDueIds(START + 3)).toEqual(['a', 'b', 'c'])
      expect(await queue.findDueIds(START + 3, ['b', 'unknown'])).toEqual(['a', 'c'])
      const query = { shards: ALL_SHARDS, now: START + 3, after: '', except: [], max: 2 }
      expect(await deliveries.findDue({ ...query, after: 'a', except: ['b'] })).toMatchObject([{ id: 'c' }])
      expect(await deliveries.findDue({ ...query, after: 'c' })).toEqual([])
      expect(await deliveries.findDue(query)).toEqual([
        { id: 'a', urlRecord: 'url-of-a', secrets: [{ record: 'secret-of-a', validUntil: null }], failingSince: null },
        { id: 'b', urlRecord: 'url-of-b', secrets: [{ record: 'secret-of-b', validUntil: null }], failingSince: null },
      ])
      // An attempt that has begun no longer waits.
      expect(await queue.begin('b', 1, START + 3)).toMatchObject([{ id: 'e1-b' }])
      expect(await queue.findDueIds(START + 3)).toEqual(['a', 'b', 'c'])
    })
    it('are divided among the shards, each in one of them', async () => {
      const { deliveries, queue } = open()
      const ids = Array.from({ length: 40 }, (_, n) => `endpoint-${n}`)
      await queue.record(...ids.map((id) => endpoint(id)), event('e1', ids))
      const find = async (shards: readonly number[]): Promise<readonly string[]> =>
        (await deliveries.findDue({ shards, now: START, after: '', except: [], max: 100 })).map(({ id }) => id)
      const found = await Promise.all(ALL_SHARDS.map((shard) => find([shard])))
      expect(found.flat().toSorted()).toEqual(ids.toSorted())
      expect(found.every((one) => one.length > 0)).toBe(true)
      expect((await find([0, 1])).toSorted()).toEqual([...(found[0] ?? []), ...(found[1] ?? [])].toSorted())
      expect(await find([])).toEqual([])
    })
    it('are announced by the time of the next delivery', async () => {
      const { deliveries, queue } = open()
      const findNext = (except: readonly string[] = []) => deliveries.findNextDueAt(ALL_SHARDS, except)
      expect(await findNext()).toBeNull()
      await queue.record(endpoint('a'), endpoint('b'), endpoint('off', { active: false }))
      await queue.record(event('e1', ['a'], { createdAt: START + 9 }), event('e2', ['b'], { createdAt: START + 5 }))
      await queue.record(event('e3', ['off'], { createdAt: START }))
      expect(await findNext()).toBe(START + 5)
      expect(await findNext(['b'])).toBe(START + 9)
      expect(await findNext(['a', 'b'])).toBeNull()
      expect(await deliveries.findNextDueAt([], [])).toBeNull()
      await queue.beginIds('b', START + 5)
      expect(await findNext()).toBe(START + 9)
      await deliveries.end([failed('e2-b', { attemptId: 'second', at: START + 7 })], START + 6)
      expect(await findNext()).toBe(START + 7)
    })
    /** Begins eight of nine attempts at an endpoint. */
    const beginEight = async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), ...Array.from({ length: 9 }, (_, n) => event(`e${n}`, ['a'], { createdAt: START + n })))
      const now = START + 9
      const failingSince = async () =>
        (await deliveries.findDue({ shards: ALL_SHARDS, now, after: '', except: [], max: 1 })).map((due) => due.failingSince)
      await queue.begin('a', 8, now)
      return { deliveries, queue, failingSince }
    }
    it('tell since when they fail', async () => {
      const { deliveries, failingSince } = await beginEight()
      await deliveries.end([failed('e0-a')], START + 10)
      await deliveries.end([failed('e1-a')], START + 20)
      expect(await failingSince()).toEqual([START + 10])
      await deliveries.end([succeeded('e2-a')], START + 30)
      expect(await failingSince()).toEqual([null])
      await deliveries.end([failed('e3-a'), succeeded('e4-a')], START + 40)
      expect(await failingSince()).toEqual([null])
      await deliveries.end([failed('e5-a')], START + 50)
      await deliveries.end([succeeded('e6-a'), failed('e7-a')], START + 60)
      expect(await failingSince()).toEqual([START + 60])
    })
    it('do not fail by failures of the service', async () => {
      const { deliveries, queue, failingSince } = await beginEight()
      await deliveries.end([interrupted('e0-a', { attemptId: 'e0-second', at: START + 60 * SECOND })], START + 10)
      expect(await failingSince()).toEqual([null])
      expect(await queue.listAttempts('e0')).toMatchObject([{ status: 'FAILED' }, { id: 'e0-second', status: 'PENDING' }])
      await deliveries.end([interrupted('e1-a'), failed('e2-a')], START + 20)
      await deliveries.end([interrupted('e3-a')], START + 30)
      expect(await failingSince()).toEqual([START + 20])
      await deliveries.end([failed('e4-a'), succeeded('e5-a'), interrupted('e6-a')], START + 40)
      expect(await failingSince()).toEqual([null])
    })
  })

  describe('attempts', () => {
    it('begin in the order of their times, at most the given number for each endpoint', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'))
      await queue.record(
        event('e1', ['a', 'b'], { createdAt: START + 3, type: 'payment.failed', envelopeId: 'payment.failed:e1' }),
      )
      await queue.record(event('e2', ['a', 'b'], { createdAt: START + 1 }), event('e3', ['a'], { createdAt: START + 2 }))
      await queue.record(event('e4', ['a'], { createdAt: START + 9 }))
      const requests = [
        { endpointId: 'a', count: 2 },
        { endpointId: 'b', count: 9 },
        { endpointId: 'unknown', count: 1 },
        { endpointId: 'none', count: 0 },
      ]
      const begun = await deliveries.begin(requests, START + 3)
      const idsOf = (endpointId: string) => begun.filter((attempt) => attempt.endpointId === endpointId).map(({ id }) => id)
      expect(idsOf('a')).toEqual(['e2-a', 'e3-a'])
      expect(idsOf('b')).toEqual(['e2-b', 'e1-b'])
      expect(begun).toHaveLength(4)
      const { id, envelopeId, type, body, environmentId } = createEvent('e1', {
        type: 'payment.failed',
        envelopeId: 'payment.failed:e1',
      })
      const expected = { id, envelopeId, type, body, environmentId }
      expect(begun.at(-1)).toEqual({ id: 'e1-b', endpointId: 'b', event: expected, number: 1, maxAttempts: MAX_ATTEMPTS })
      expect(await queue.beginIds('a', START + 3)).toEqual(['e1-a'])
      expect(await deliveries.begin([], START)).toEqual([])
    })
    it('end and let the next events of their transactions begin, in one call', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a'], { transactionId: 't', sequence: 1 }))
      await queue.record(event('e2', ['a'], { transactionId: 't', sequence: 2 }))
      expect(await queue.beginIds('a')).toEqual(['e1-a'])
      const begun = await deliveries.begin([{ endpointId: 'a', count: 4 }], START, [succeeded('e1-a')])
      expect(begun).toMatchObject([{ id: 'e2-a' }])
      expect(await queue.listAttempts('e1')).toMatchObject([{ status: 'SUCCESS' }])
      expect(await deliveries.begin([], START, [succeeded('e2-a')])).toEqual([])
      expect(await queue.listAttempts('e2')).toMatchObject([{ status: 'SUCCESS' }])
    })
    it('are never begun by two callers', async () => {
      const { deliveries, queue } = open()
      const endpointIds = ['a', 'b', 'c']
      await queue.record(...endpointIds.map((id) => endpoint(id)))
      await queue.record(...Array.from({ length: 20 }, (_, n) => event(`e${n}`, endpointIds, { createdAt: START + n })))
      const requests = endpointIds.map((endpointId) => ({ endpointId, count: 4 }))
      const begun: string[] = []
      while (begun.length < 60) {
        const calls = await Promise.all(Array.from({ length: 3 }, () => deliveries.begin(requests, START + SECOND)))
        const ids = calls.flat().map(({ id }) => id)
        expect(ids.length).toBeGreaterThan(0)
        begun.push(...ids)
      }
      expect(new Set(begun).size).toBe(60)
    })
    it('are planned again after a failure, until the last', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a'], { maxAttempts: 2 }), event('e2', ['a'], { createdAt: START + 1 }))
      expect(await queue.begin('a', 1, START)).toMatchObject([{ id: 'e1-a', number: 1, maxAttempts: 2 }])
      await deliveries.end([failed('e1-a', { attemptId: 'second', at: START + 10 * SECOND })], START + 1)
      expect(await queue.beginIds('a', START + 9 * SECOND)).toEqual(['e2-a'])
      const [second] = await queue.begin('a', 4, START + 10 * SECOND)
      expect(second).toMatchObject({ id: 'second', number: 2, maxAttempts: 2, event: { id: 'e1' } })
      await deliveries.end([failed('second'), succeeded('e2-a')], START + 11 * SECOND)
      expect(await queue.findDueIds(START + 86_400 * SECOND)).toEqual([])
      expect(await queue.listAttempts('e1')).toEqual([
        { id: 'e1-a', endpointId: 'a', number: 1, status: 'FAILED' },
        { id: 'second', endpointId: 'a', number: 2, status: 'FAILED' },
      ])
    })
    it('stay as they are after their end', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']), event('e2', ['a'], { createdAt: START + 1 }))
      await queue.begin('a', 1, START)
      await deliveries.end([], START)
      await deliveries.end([succeeded('e1-a')], START + 1)
      const again = { attemptId: 'again', at: START }
      await deliveries.end([failed('e1-a', again), failed('e2-a', again), failed('unknown', again)], START + 2)
      expect(await deliveries.listAttempts(['e1'])).toMatchObject([{ status: 'SUCCESS', updatedAt: START + 1 }])
      // The second has not begun, so it has no end.
      expect(await deliveries.listAttempts(['e2'])).toMatchObject([{ status: 'PENDING' }])
      expect(await deliveries.findDue({ shards: ALL_SHARDS, now: START + 9, after: '', except: [], max: 1 })).toMatchObject([
        { failingSince: null },
      ])
    })
    it('of many endpoints end in one call', async () => {
      const { deliveries, queue } = open()
      const endpointIds = Array.from({ length: 64 }, (_, n) => `endpoint-${n}`)
      await queue.record(...endpointIds.map((id) => endpoint(id)), event('e1', endpointIds))
      const begun = await deliveries.begin(
        endpointIds.map((endpointId) => ({ endpointId, count: 1 })),
        START,
      )
      expect(begun).toHaveLength(64)
      const outcomes = begun.map(({ id }, n) =>
        n % 2 === 0 ? succeeded(id) : failed(id, { attemptId: `second-${n}`, at: START + n }),
      )
      await deliveries.end(outcomes, START + SECOND)
      expect(await deliveries.count(START + SECOND)).toEqual({ due: 32, inProgress: 0, oldestDueAt: START + 1 })
    })
    it('in progress are found by their shard after a crash', async () => {
      const { deliveries, queue } = open()
      await queue.record(
        endpoint('a'),
        endpoint('b'),
        event('e1', ['a'], { maxAttempts: 1 }),
        event('e2', ['b']),
        event('e3', ['b']),
      )
      await queue.beginIds('a')
      await queue.beginIds('b')
      const find = async (except: readonly string[]) =>
        (
          await Promise.all(ALL_SHARDS.map((shard) => deliveries.findInProgress({ shard, begunBefore: START + 1, except })))
        ).flat()
      const found = await find(['e2-b', 'unknown'])
      expect(found.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([
        { id: 'e1-a', number: 1, maxAttempts: 1 },
        { id: 'e3-b', number: 1, maxAttempts: MAX_ATTEMPTS },
      ])
      await deliveries.end([failed('e1-a'), failed('e3-b', { attemptId: 'second', at: START })], START)
      expect((await find([])).map(({ id }) => id)).toEqual(['e2-b'])
      // An attempt of a deleted endpoint is found, too.
      await queue.record({ kind: 'endpoint-deleted', endpointId: 'b' })
      expect((await find([])).map(({ id }) => id)).toEqual(['e2-b'])
    })
    it('in progress are found by the time of their begin', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), ...['e1', 'e2', 'e3'].map((id, n) => event(id, ['a'], { createdAt: START + n })))
      const find = async (begunBefore: number) => {
        const found = ALL_SHARDS.map((shard) => deliveries.findInProgress({ shard, begunBefore, except: [] }))
        return (await Promise.all(found)).flat().map(({ id }) => id)
      }
      expect(await queue.begin('a', 1, START + 10)).toMatchObject([{ id: 'e1-a' }])
      expect(await queue.begin('a', 1, START + 20)).toMatchObject([{ id: 'e2-a' }])
      expect(await find(START + 10)).toEqual([])
      expect(await find(START + 20)).toEqual(['e1-a'])
      expect((await find(Number.MAX_SAFE_INTEGER)).toSorted()).toEqual(['e1-a', 'e2-a'])
    })
    it('are counted for operators', async () => {
      const { deliveries, queue } = open()
      expect(await deliveries.count(START)).toEqual({ due: 0, inProgress: 0, oldestDueAt: null })
      await queue.record(endpoint('a'), endpoint('off', { active: false }))
      await queue.record(event('e1', ['a', 'off']), event('e2', ['a'], { createdAt: START + 2 }))
      await queue.record(event('e3', ['a'], { createdAt: START + 9 }))
      expect(await deliveries.count(START + 3)).toEqual({ due: 2, inProgress: 0, oldestDueAt: START })
      await queue.begin('a', 1, START + 3)
      expect(await deliveries.count(START + 3)).toEqual({ due: 1, inProgress: 1, oldestDueAt: START + 2 })
    })
  })

  describe('the events of a transaction', () => {
    const orderOf = (id: string, sequence: number, endpointIds: readonly string[]) =>
      event(id, endpointIds, { transactionId: 'transaction', sequence, createdAt: START })

    it('begin one after the other at an endpoint, each after the end of the attempt before', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), endpoint('c'))
      await queue.record(orderOf('first', 1, ['a', 'b']), orderOf('second', 4, ['a', 'b', 'c']), orderOf('third', 5, ['a']))
      await queue.record(event('other', ['a'], { createdAt: START + 1 }))
      expect(await queue.beginIds('a', START + 1)).toEqual(['first-a', 'other-a'])
      expect(await queue.beginIds('a', START + 1)).toEqual([])
      // Each endpoint has an order of its own, and an event that an endpoint does not get delays nothing there.
      expect(await queue.beginIds('c')).toEqual(['second-c'])
      expect(await queue.beginIds('b')).toEqual(['first-b'])
      await deliveries.end([succeeded('first-a')], START + 1)
      expect(await queue.beginIds('a')).toEqual(['second-a'])
      await deliveries.end([failed('second-a')], START + 1)
      expect(await queue.beginIds('a')).toEqual(['third-a'])
    })
    it('do not wait for further attempts', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), orderOf('first', 1, ['a']), orderOf('second', 2, ['a']))
      await queue.beginIds('a')
      await deliveries.end([failed('first-a', { attemptId: 'first-again', at: START + 10 * SECOND })], START)
      expect(await queue.beginIds('a', START + SECOND)).toEqual(['second-a'])
      // A further attempt waits for nothing.
      expect(await queue.beginIds('a', START + 10 * SECOND)).toEqual(['first-again'])
      await queue.record({ kind: 'redelivery', eventId: 'second', endpointId: 'a', attemptId: 'second-again', at: START })
      expect(await queue.beginIds('a')).toEqual(['second-again'])
    })
    it('wait for a redelivery that is the first attempt of an earlier event', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), orderOf('first', 1, []), orderOf('second', 2, ['a']))
      await queue.record({ kind: 'redelivery', eventId: 'first', endpointId: 'a', attemptId: 'again', at: START })
      expect(await queue.beginIds('a')).toEqual(['again'])
      await deliveries.end([failed('again')], START)
      expect(await queue.beginIds('a')).toEqual(['second-a'])
    })
    it('do not wait for a delivery that has ended before its first attempt', async () => {
      const { queue } = open()
      await queue.record(endpoint('a'), orderOf('first', 1, ['a']), orderOf('second', 2, ['a']))
      await queue.record(event('late', ['a'], { transactionId: 'transaction', sequence: 3, createdAt: START + 1 }))
      await queue.record({ kind: 'resumed', endpointId: 'a', endBefore: START + 1, at: START + 1 })
      expect(await queue.beginIds('a', START + 1)).toEqual(['late-a'])
    })
    it('are independent of events without a transaction', async () => {
      const { queue } = open()
      await queue.record(endpoint('a'))
      await queue.record(
        event('test-1', ['a'], { transactionId: null, sequence: 0 }),
        event('test-2', ['a'], { transactionId: null }),
      )
      expect((await queue.beginIds('a')).toSorted()).toEqual(['test-1-a', 'test-2-a'])
    })
  })
}
