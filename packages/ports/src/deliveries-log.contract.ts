import { describe, expect, it } from 'vitest'
import type { EventQuery } from './deliveries.ts'
import { createEvent, endpoint, event, failed, SECOND, START, succeeded, type DeliveriesUnderTest } from './deliveries.fixture.ts'

/** Cases of the log, and of its pruning. */
export function deliveriesLogCases(open: () => DeliveriesUnderTest): void {
  describe('the log', () => {
    it('finds an event by its id and by the id in its body', async () => {
      const { deliveries, queue } = open()
      await queue.record(
        event('e1', []),
        event('test', [], { walletId: null, transactionId: null, envelopeId: 'webhook.test:test' }),
      )
      const { sequence: _, ...logged } = createEvent('e1')
      expect(await deliveries.findEvent('e1')).toEqual(logged)
      expect(await deliveries.findEvent('payment.pending:e1')).toEqual(logged)
      expect(await deliveries.findEvent('webhook.test:test')).toMatchObject({ id: 'test', walletId: null, transactionId: null })
      expect(await deliveries.findEvent('unknown')).toBeUndefined()
    })
    it('lists the events of an environment, newest first, with their number', async () => {
      const { deliveries, queue } = open()
      await queue.record(...[3, 1, 2].map((n) => event(`e${n}`, [], { createdAt: START + n })))
      await queue.record(event('e0', [], { createdAt: START + 2 }), event('foreign', [], { environmentId: 'other' }))
      const list = async (limit: number, offset: number) => {
        const { totalCount, events } = await deliveries.listEvents({ environmentId: 'shop', limit, offset })
        return [totalCount, events.map(({ id }) => id)]
      }
      expect(await list(10, 0)).toEqual([4, ['e3', 'e2', 'e0', 'e1']])
      expect(await list(2, 1)).toEqual([4, ['e2', 'e0']])
      expect(await list(2, 4)).toEqual([4, []])
      expect(await deliveries.listEvents({ environmentId: 'unknown', limit: 9, offset: 0 })).toEqual({
        totalCount: 0,
        events: [],
      })
    })
    it('lists the events that match every filter', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), endpoint('foreign', { environmentId: 'other' }))
      await queue.record(
        event('e1', ['a', 'b'], { createdAt: START + 1, transactionId: 't1' }),
        event('e2', ['a'], { createdAt: START + 2, transactionId: 't1', sequence: 2, type: 'payment.completed' }),
        event('e3', ['b'], { createdAt: START + 3, walletId: 'second' }),
        event('e4', [], { createdAt: START + 4, type: 'payment.completed' }),
        event('e5', ['foreign'], { createdAt: START + 5, environmentId: 'other' }),
      )
      const list = async (filter: Partial<EventQuery>) => {
        const query = { environmentId: 'shop', limit: 9, offset: 0, ...filter }
        const { totalCount, events } = await deliveries.listEvents(query)
        expect(events).toHaveLength(totalCount)
        return events.map(({ id }) => id)
      }
      expect(await list({ walletId: 'second' })).toEqual(['e3'])
      expect(await list({ transactionId: 't1' })).toEqual(['e2', 'e1'])
      expect(await list({ type: 'payment.completed' })).toEqual(['e4', 'e2'])
      expect(await list({ from: START + 2, to: START + 4 })).toEqual(['e3', 'e2'])
      expect(await list({ endpointId: 'a' })).toEqual(['e2', 'e1'])
      expect(await list({ endpointId: 'b', from: START + 2 })).toEqual(['e3'])
      expect(await list({ endpointId: 'b', to: START + 3 })).toEqual(['e1'])
      expect(await list({ endpointId: 'a', type: 'payment.completed', walletId: 'wallet', transactionId: 't1' })).toEqual(['e2'])
      expect(await list({ endpointId: 'foreign' })).toEqual([])
      expect(await list({ walletId: 'unknown' })).toEqual([])
      expect(await deliveries.listEvents({ environmentId: 'shop', endpointId: 'a', limit: 1, offset: 1 })).toMatchObject({
        totalCount: 2,
        events: [{ id: 'e1' }],
      })
    })
    it('lists an event once at an endpoint with many attempts, and also after the deletion of the endpoint', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), event('e1', ['a']))
      await queue.beginIds('a')
      await deliveries.end([failed('e1-a', { attemptId: 'second', at: START })], START)
      await queue.record({ kind: 'endpoint-deleted', endpointId: 'a' })
      const found = await deliveries.listEvents({ environmentId: 'shop', endpointId: 'a', limit: 9, offset: 0 })
      expect(found).toMatchObject({ totalCount: 1, events: [{ id: 'e1' }] })
    })
    it('lists the attempts of events, oldest first, and the ones that are due', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), endpoint('b'), event('e1', ['a']), event('e2', ['b'], { createdAt: START + 1 }))
      const pending = { eventId: 'e1', endpointId: 'a', number: 1, status: 'PENDING', httpStatus: null, error: null }
      const times = { nextAttemptAt: START, createdAt: START, updatedAt: START }
      expect(await deliveries.listAttempts(['e1'])).toEqual([{ id: 'e1-a', ...pending, ...times }])
      await queue.begin('a', 1, START + SECOND)
      expect(await deliveries.listAttempts(['e1'])).toEqual([
        { id: 'e1-a', ...pending, ...times, status: 'IN_PROGRESS', nextAttemptAt: null, updatedAt: START + SECOND },
      ])
      await deliveries.end([failed('e1-a', { attemptId: 'second', at: START + 20 * SECOND })], START + 10 * SECOND)
      const failure = { status: 'FAILED', httpStatus: 503, error: 'The endpoint answered with status 503.' }
      const first = { id: 'e1-a', ...pending, ...times, ...failure, nextAttemptAt: null, updatedAt: START + 10 * SECOND }
      const second = {
        id: 'second',
        ...pending,
        number: 2,
        nextAttemptAt: START + 20 * SECOND,
        createdAt: START + 10 * SECOND,
        updatedAt: START + 10 * SECOND,
      }
      expect(await deliveries.listAttempts(['e1'])).toEqual([first, second])
      await queue.record(endpoint('a', { active: false }))
      expect(await deliveries.listAttempts(['e1'])).toEqual([first, { ...second, nextAttemptAt: null }])
      expect((await deliveries.listAttempts(['e2', 'e1', 'unknown'])).map(({ id }) => id)).toEqual(['e1-a', 'e2-b', 'second'])
      await queue.beginIds('b', START + SECOND)
      await deliveries.end([succeeded('e2-b')], START + 2 * SECOND)
      expect(await deliveries.listAttempts(['e2'])).toMatchObject([{ status: 'SUCCESS', httpStatus: 200, error: null }])
      expect(await deliveries.listAttempts([])).toEqual([])
    })
  })

  describe('pruning', () => {
    const never = 0

    it('deletes the bodies of older events, and ends their deliveries', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), ...[1, 2, 3].map((n) => event(`e${n}`, ['a'], { createdAt: START + n })))
      await queue.begin('a', 1, START + 9)
      expect(await deliveries.prune({ bodiesBefore: START + 3, rowsBefore: never, max: 9 })).toBe(false)
      expect(await deliveries.findRedeliverable(['e1', 'e2', 'e3'])).toEqual(['e3'])
      expect(await deliveries.findEvent('e2')).toMatchObject({ id: 'e2', body: null })
      expect(await queue.listAttempts('e2')).toEqual([])
      await deliveries.end([failed('e1-a', { attemptId: 'second', at: START })], START + 9)
      expect(await queue.listAttempts('e1')).toMatchObject([{ id: 'e1-a', status: 'FAILED' }])
      expect(await queue.beginIds('a', START + 9)).toEqual(['e3-a'])
    })
    it('deletes all rows of still older events', async () => {
      const { deliveries, queue } = open()
      await queue.record(endpoint('a'), ...[1, 2, 3].map((n) => event(`e${n}`, ['a'], { createdAt: START + n })))
      await queue.begin('a', 1, START + 9)
      await deliveries.end([succeeded('e1-a')], START + 9)
      expect(await deliveries.prune({ bodiesBefore: never, rowsBefore: START + 3, max: 9 })).toBe(false)
      const { totalCount, events } = await deliveries.listEvents({ environmentId: 'shop', limit: 9, offset: 0 })
      expect([totalCount, events.map(({ id }) => id)]).toEqual([1, ['e3']])
      expect((await deliveries.listAttempts(['e1', 'e2', 'e3'])).map(({ id }) => id)).toEqual(['e3-a'])
    })
    it('deletes at most the given number of events, the oldest first, and tells whether more are left', async () => {
      const { deliveries, queue } = open()
      await queue.record(...[5, 3, 1, 4, 2].map((n) => event(`e${n}`, [], { createdAt: START + n })))
      const prune = () => deliveries.prune({ bodiesBefore: START + 5, rowsBefore: START + 3, max: 2 })
      const list = async () =>
        (await deliveries.listEvents({ environmentId: 'shop', limit: 9, offset: 0 })).events.map(
          ({ id, body }) => `${id}${body === null ? '' : ' with body'}`,
        )
      expect(await prune()).toBe(true)
      expect(await list()).toEqual(['e5 with body', 'e4 with body', 'e3 with body'])
      expect(await prune()).toBe(false)
      expect(await list()).toEqual(['e5 with body', 'e4', 'e3'])
      expect(await prune()).toBe(false)
    })
  })
}
