import { describe, expect, it } from 'vitest'
import {
  ALL_SHARDS,
  endpoint,
  event,
  failed,
  interrupted,
  MAX_ATTEMPTS,
  postponed,
  SECOND,
  START,
  succeeded,
  type DeliveriesUnderTest,
} from './deliveries.fixture.ts'

/** Cases of attempts that the sender returns to the queue without a request. */
export function deliveriesPostponedCases(open: () => DeliveriesUnderTest): void {
  describe('postponed attempts', () => {
    const later = START + 10 * SECOND

    it('begin again later with the same number, and take none from their delivery', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']), event('test', ['a'], { maxAttempts: 1 }))
      expect((await queue.beginIds('a')).toSorted()).toEqual(['e1-a', 'test-a'])
      await deliveries.end([postponed('e1-a', later), postponed('test-a', later + 1)], START)
      expect(await deliveries.listAttempts(['e1'])).toMatchObject([
        { id: 'e1-a', number: 1, status: 'PENDING', httpStatus: null, error: null, nextAttemptAt: later },
      ])
      expect(await deliveries.count(later)).toEqual({ due: 1, inProgress: 0, oldestDueAt: later })
      expect(await queue.beginIds('a', later - 1)).toEqual([])
      expect(await queue.begin('a', 4, later + 1)).toMatchObject([
        { id: 'e1-a', number: 1, maxAttempts: MAX_ATTEMPTS },
        { id: 'test-a', number: 1, maxAttempts: 1 },
      ])
      await deliveries.end([succeeded('e1-a'), failed('test-a')], later + 2)
      expect((await queue.listAttempts('e1')).map(({ status }) => status)).toEqual(['SUCCESS'])
      expect((await queue.listAttempts('test')).map(({ status }) => status)).toEqual(['FAILED'])
    })
    it('are postponed together with the ends of others, also while others begin', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), ...['e1', 'e2', 'e3', 'e4'].map((id) => event(id, ['a'])))
      const [first, second, third] = await queue.beginIds('a')
      if (!first || !second || !third) throw new Error('three attempts have to begin')
      const outcomes = [postponed(first, later), interrupted(second), failed(third, { attemptId: 'second', at: later })]
      await deliveries.begin([{ endpointId: 'a', count: 4 }], START, outcomes)
      expect(await deliveries.count(later)).toMatchObject({ due: 2, inProgress: 1 })
      expect((await queue.beginIds('a', later)).toSorted()).toEqual([first, 'second'].toSorted())
    })
    it('are no failure of their endpoint', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      await queue.beginIds('a')
      await deliveries.end([postponed('e1-a', later)], START)
      const query = { shards: ALL_SHARDS, now: later, after: '', except: [], max: 1 }
      expect(await deliveries.findDue(query)).toMatchObject([{ id: 'a', failingSince: null }])
    })
    it('delay the later events of their transaction', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('first', ['a'], { transactionId: 't', sequence: 1 }))
      await queue.record(event('second', ['a'], { transactionId: 't', sequence: 2 }))
      expect(await queue.beginIds('a')).toEqual(['first-a'])
      await deliveries.end([postponed('first-a', later)], START)
      expect(await queue.beginIds('a', later - 1)).toEqual([])
      expect(await queue.beginIds('a', later)).toEqual(['first-a'])
      await deliveries.end([succeeded('first-a')], later)
      expect(await queue.beginIds('a', later)).toEqual(['second-a'])
    })
    it('wait while their endpoint is switched off', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      await queue.beginIds('a')
      await queue.record(endpoint('a', { active: false }))
      await deliveries.end([postponed('e1-a', later)], START)
      expect(await queue.beginIds('a', later)).toEqual([])
      await queue.record(endpoint('a'))
      expect(await queue.beginIds('a', later)).toEqual(['e1-a'])
    })
    it('end as failed if their endpoint was deleted meanwhile', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), event('e1', ['a', 'b']))
      await queue.beginIds('a')
      await queue.beginIds('b')
      await queue.record({ kind: 'endpoint-deleted', endpointId: 'a' })
      await deliveries.end([postponed('e1-a', later), postponed('e1-b', later)], START + 1)
      const attempts = await deliveries.listAttempts(['e1'])
      expect(attempts.find(({ endpointId }) => endpointId === 'a')).toMatchObject({
        status: 'FAILED',
        httpStatus: null,
        error: 'The endpoint was deleted.',
        nextAttemptAt: null,
        updatedAt: START + 1,
      })
      expect(attempts.find(({ endpointId }) => endpointId === 'b')).toMatchObject({ status: 'PENDING', nextAttemptAt: later })
    })
    it('do not outlive their endpoints, which another process deletes at the same time', async () => {
      const { deliveries, queue } = open()
      const endpointIds = Array.from({ length: 40 }, (_, n) => `endpoint-${n}`)
      await queue.record(...endpointIds.map((id) => endpoint(id)), event('e1', endpointIds))
      const requests = endpointIds.map((endpointId) => ({ endpointId, count: 1 }))
      const begun = await deliveries.begin(requests, START)
      expect(begun).toHaveLength(40)
      const deletions = endpointIds.map((endpointId) => ({ kind: 'endpoint-deleted', endpointId }) as const)
      await Promise.all([queue.record(...deletions), ...begun.map(({ id }) => deliveries.end([postponed(id, later)], START))])
      expect((await queue.listAttempts('e1')).filter(({ status }) => status !== 'FAILED')).toEqual([])
    })
    it('never begin if their event has lost its body', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      await queue.beginIds('a')
      await queue.record({ kind: 'wallet-deleted', walletId: 'wallet' })
      await deliveries.end([postponed('e1-a', later)], START)
      expect(await queue.beginIds('a', later)).toEqual([])
      expect(await queue.listAttempts('e1')).toEqual([])
    })
    it('are left as they are unless they are in progress', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']), event('e2', ['a'], { createdAt: START + 1 }))
      await queue.begin('a', 1, START)
      await deliveries.end([failed('e1-a')], START + 1)
      await deliveries.end(
        ['e1-a', 'e2-a', 'unknown'].map((id) => postponed(id, later)),
        START + 2,
      )
      expect(await deliveries.listAttempts(['e1', 'e2'])).toMatchObject([
        { id: 'e1-a', status: 'FAILED', updatedAt: START + 1 },
        { id: 'e2-a', status: 'PENDING', nextAttemptAt: START + 1 },
      ])
    })
  })
}
