import { describe, expect, it } from 'vitest'
import {
  createSettings,
  endpoint,
  event,
  failed,
  MAX_ATTEMPTS,
  SECOND,
  START,
  succeeded,
  type DeliveriesUnderTest,
} from './deliveries.fixture.ts'

/** Cases of the changes that the feed records. */
export function deliveriesFeedCases(open: () => DeliveriesUnderTest): void {
  describe('batches', () => {
    it('are recorded only after the position that the writer knows', async () => {
      const { deliveries } = open()
      expect(await deliveries.readPosition()).toBe('start')
      expect(await deliveries.record({ after: 3n, position: 4n, changes: [endpoint('a')] })).toBe(false)
      expect(await deliveries.record({ after: 'start', position: 9_007_199_254_740_993n, changes: [endpoint('a')] })).toBe(true)
      expect(await deliveries.record({ after: 'start', position: 5n, changes: [endpoint('b')] })).toBe(false)
      expect(await deliveries.record({ after: 5n, position: 6n, changes: [endpoint('c')] })).toBe(false)
      expect(await deliveries.readPosition()).toBe(9_007_199_254_740_993n)
      expect(await deliveries.findEndpoints(['shop'])).toEqual([createSettings('a')])
    })
    it('of two writers at once are not both recorded', async () => {
      const { deliveries } = open()
      for (const after of ['start', 1n] as const) {
        const position = after === 'start' ? 1n : 2n
        const batch = { after, position, changes: [event(`e${position}`, [])] }
        const recorded = await Promise.all([deliveries.record(batch), deliveries.record(batch)])
        expect(recorded.filter(Boolean)).toEqual([true])
      }
      expect((await deliveries.listEvents({ environmentId: 'shop', limit: 9, offset: 0 })).totalCount).toBe(2)
    })
    it('may have no change, and apply many changes in their order', async () => {
      const { deliveries, queue } = open()
      await queue.record()
      const events = Array.from({ length: 1200 }, (_, n) => event(`e${n}`, ['a', 'b'], { createdAt: START + n }))
      await queue.record(
        endpoint('a'),
        endpoint('b'),
        ...events,
        { kind: 'endpoint-deleted', endpointId: 'b' },
        event('last', ['a']),
      )
      expect(await deliveries.count(START + 5000)).toEqual({ due: 1201, inProgress: 0, oldestDueAt: START })
      expect(await queue.listAttempts('e1199')).toEqual([{ id: 'e1199-a', endpointId: 'a', number: 1, status: 'PENDING' }])
    })
  })

  describe('endpoints', () => {
    it('have the newest recorded settings', async () => {
      const { deliveries, queue } = open()
      expect(await deliveries.hasEndpoints()).toBe(false)
      const changed = createSettings('a', {
        urlRecord: 'other-url',
        secrets: [
          { record: 'new-secret', validUntil: null },
          { record: 'old-secret', validUntil: START },
        ],
        filters: ['payment.completed'],
        active: false,
      })
      await queue.record(endpoint('a'), endpoint('b', { environmentId: 'other' }), { kind: 'endpoint', settings: changed })
      expect(await deliveries.hasEndpoints()).toBe(true)
      expect(await deliveries.findEndpoints(['shop'])).toEqual([changed])
      const found = await deliveries.findEndpoints(['shop', 'other', 'unknown'])
      expect(found.map(({ id }) => id).toSorted()).toEqual(['a', 'b'])
      expect(await deliveries.findEndpoints([])).toEqual([])
      expect([await deliveries.findEndpoint('a'), await deliveries.findEndpoint('unknown')]).toEqual([changed, undefined])
    })
    it('keep their deliveries while they are switched off', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a'], { createdAt: START }))
      await queue.record(endpoint('a', { active: false }), event('e2', ['a'], { createdAt: START + 1 }))
      expect(await queue.findDueIds(START + SECOND)).toEqual([])
      expect(await deliveries.findNextDueAt([0, 1, 2, 3], [])).toBeNull()
      expect(await queue.beginIds('a', START + SECOND)).toEqual([])
      expect(await deliveries.count(START + SECOND)).toEqual({ due: 0, inProgress: 0, oldestDueAt: null })
      expect(await deliveries.listAttempts(['e1'])).toMatchObject([{ status: 'PENDING', nextAttemptAt: null }])
      await queue.record(endpoint('a'), { kind: 'resumed', endpointId: 'a', endBefore: START - SECOND, at: START + SECOND })
      expect(await queue.beginIds('a', START + SECOND)).toEqual(['e1-a', 'e2-a'])
    })
    it('end the deliveries of older events when they are switched on', async () => {
      const { queue } = open()
      const old = START - 6 * 86_400_000
      await queue.record(endpoint('a'), endpoint('b'), event('old', ['a', 'b'], { createdAt: old }))
      await queue.record(event('new', ['a'], { createdAt: START }), event('begun', ['a'], { createdAt: old - 1 }))
      expect(await queue.begin('a', 1, old)).toMatchObject([{ id: 'begun-a' }])
      await queue.record({ kind: 'redelivery', eventId: 'old', endpointId: 'a', attemptId: 'again', at: START })
      await queue.record({ kind: 'resumed', endpointId: 'a', endBefore: START - 5 * 86_400_000, at: START })
      expect(await queue.beginIds('a')).toEqual(['new-a'])
      expect(await queue.listAttempts('begun')).toMatchObject([{ status: 'IN_PROGRESS' }])
      expect(await queue.listAttempts('old')).toEqual([{ id: 'old-b', endpointId: 'b', number: 1, status: 'PENDING' }])
    })
    it('no longer count failures before they were switched on', async () => {
      const { deliveries, queue } = open()
      const fail = async (id: string, now: number): Promise<number | null | undefined> => {
        expect(await queue.begin('a', 1, now)).toMatchObject([{ id }])
        await deliveries.end([failed(id)], now)
        return (await deliveries.findDue({ shards: [0, 1, 2, 3], now, after: '', except: [], max: 1 }))[0]?.failingSince
      }
      await queue.record(endpoint('a'), event('e1', ['a']), event('e2', ['a']), event('e3', ['a']), event('e4', ['a']))
      expect(await fail('e1-a', START + 1)).toBe(START + 1)
      await queue.record({ kind: 'resumed', endpointId: 'a', endBefore: 0, at: START + 2 })
      expect(await fail('e2-a', START + 3)).toBe(START + 3)
      // The feed may lag behind, so a failure may be newer than the fact.
      await queue.record({ kind: 'resumed', endpointId: 'a', endBefore: 0, at: START + 2 })
      expect(await fail('e3-a', START + 4)).toBe(START + 3)
    })
    it('end their deliveries when they are deleted, and their attempts stay in the log', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'))
      await queue.record(...['e1', 'e2', 'e3'].map((id, n) => event(id, ['a', 'b'], { createdAt: START + n })))
      await queue.begin('a', 2, START + SECOND)
      await deliveries.end([failed('e1-a', { attemptId: 'e1-second', at: START + 10 * SECOND })], START + SECOND)
      await queue.record({ kind: 'endpoint-deleted', endpointId: 'a' })
      expect(await deliveries.findEndpoints(['shop'])).toEqual([createSettings('b')])
      expect(await deliveries.findEndpoint('a')).toBeUndefined()
      expect(await queue.findDueIds(START + 60 * SECOND)).toEqual(['b'])
      expect(await queue.beginIds('a', START + 60 * SECOND)).toEqual([])
      const toStatuses = async (id: string) => (await queue.listAttempts(id)).filter(({ endpointId }) => endpointId === 'a')
      expect(await toStatuses('e1')).toMatchObject([{ id: 'e1-a', status: 'FAILED' }])
      expect(await toStatuses('e2')).toMatchObject([{ id: 'e2-a', status: 'IN_PROGRESS' }])
      expect(await toStatuses('e3')).toEqual([])
      await deliveries.end([failed('e2-a', { attemptId: 'e2-second', at: START })], START + 2 * SECOND)
      expect(await toStatuses('e2')).toMatchObject([{ id: 'e2-a', status: 'FAILED' }])
    })
    it('are deleted with their environment, and the bodies of its events too', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), endpoint('c', { environmentId: 'other' }))
      await queue.record(event('e1', ['a', 'b']), event('e2', ['a']), event('e3', ['c'], { environmentId: 'other' }))
      expect(await queue.begin('a', 1, START)).toMatchObject([{ id: 'e1-a' }])
      await queue.record({ kind: 'environment-deleted', environmentId: 'shop' })
      expect(await deliveries.findEndpoints(['shop'])).toEqual([])
      expect(await queue.findDueIds()).toEqual(['c'])
      expect(await queue.listAttempts('e1')).toMatchObject([{ id: 'e1-a', status: 'IN_PROGRESS' }])
      expect(await queue.listAttempts('e2')).toEqual([])
      expect(await deliveries.findEvent('e1')).toMatchObject({ id: 'e1', body: null })
      expect(await deliveries.findRedeliverable(['e1', 'e2', 'e3'])).toEqual(['e3'])
    })
  })

  describe('the deletion of a wallet', () => {
    it('deletes the bodies of its events and ends their deliveries', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']), event('e2', ['a'], { createdAt: START + 1 }))
      await queue.record(
        event('e3', ['a'], { walletId: 'other', createdAt: START + 2 }),
        event('test', ['a'], { walletId: null, createdAt: START + 3 }),
      )
      expect(await queue.begin('a', 1, START)).toMatchObject([{ id: 'e1-a' }])
      await queue.record({ kind: 'wallet-deleted', walletId: 'wallet' })
      expect((await deliveries.findRedeliverable(['e1', 'e2', 'e3', 'test'])).toSorted()).toEqual(['e3', 'test'])
      expect(await queue.listAttempts('e2')).toEqual([])
      expect(await deliveries.findEvent('e2')).toMatchObject({ walletId: 'wallet', body: null })
      expect(await queue.beginIds('a', START + SECOND)).toEqual(['e3-a', 'test-a'])
    })
    it('ends the deliveries of its attempts in progress', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      await queue.beginIds('a')
      await queue.record({ kind: 'wallet-deleted', walletId: 'wallet' })
      await deliveries.end([failed('e1-a', { attemptId: 'e1-second', at: START + 10 * SECOND })], START)
      expect(await queue.listAttempts('e1')).toEqual([{ id: 'e1-a', endpointId: 'a', number: 1, status: 'FAILED' }])
      expect(await queue.findDueIds(START + 60 * SECOND)).toEqual([])
    })
  })

  describe('a redelivery', () => {
    const redelivery = (attemptId: string, at = START + SECOND, endpointId = 'a') =>
      ({ kind: 'redelivery', eventId: 'e1', endpointId, attemptId, at }) as const

    it('is one more attempt, whose number continues those of the event at the endpoint', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), event('e1', ['a']))
      await queue.beginIds('a')
      await deliveries.end([succeeded('e1-a')], START)
      await queue.record(redelivery('again'), redelivery('elsewhere', START + SECOND, 'b'))
      expect(await queue.begin('a', 4, START + SECOND - 1)).toEqual([])
      expect(await queue.begin('a', 4, START + SECOND)).toMatchObject([{ id: 'again', number: 2, maxAttempts: 2 }])
      expect(await queue.begin('b', 4, START + SECOND)).toMatchObject([{ id: 'elsewhere', number: 1, maxAttempts: 1 }])
    })
    it('takes no attempt from the schedule of a delivery that waits, and each attempt has another number', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      expect(await queue.begin('a', 4, START)).toMatchObject([{ number: 1, maxAttempts: MAX_ATTEMPTS }])
      await queue.record(redelivery('again', START))
      expect(await queue.begin('a', 4, START)).toMatchObject([{ id: 'again', number: 2, maxAttempts: 2 }])
      await deliveries.end([failed('e1-a', { attemptId: 'e1-second', at: START })], START)
      expect(await queue.begin('a', 4, START)).toMatchObject([{ id: 'e1-second', number: 3, maxAttempts: MAX_ATTEMPTS + 1 }])
    })
    it('has no effect without a body, without the endpoint, or at an endpoint of another environment', async () => {
      const { queue } = open()
      await queue.record(endpoint('a'), endpoint('c', { environmentId: 'other' }), event('e1', []), event('e2', []))
      await queue.record(redelivery('foreign', START, 'c'), redelivery('unknown', START, 'd'))
      await queue.record(
        { ...redelivery('missing'), eventId: 'e3' },
        { kind: 'wallet-deleted', walletId: 'wallet' },
        redelivery('late'),
      )
      expect(await queue.findDueIds(START + 60 * SECOND)).toEqual([])
      expect(await queue.listAttempts('e1')).toEqual([])
    })
    it('waits while its endpoint is switched off', async () => {
      const { queue } = open()
      await queue.record(endpoint('a', { active: false }), event('e1', []), redelivery('again'))
      expect(await queue.beginIds('a', START + SECOND)).toEqual([])
      await queue.record(endpoint('a'))
      expect(await queue.beginIds('a', START + SECOND)).toEqual(['again'])
    })
  })
}
