import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deliveriesFeedCases } from './deliveries-feed.contract.ts'
import { deliveriesLogCases } from './deliveries-log.contract.ts'
import { deliveriesPostponedCases } from './deliveries-postponed.contract.ts'
import { deliveriesQueueCases } from './deliveries-queue.contract.ts'
import {
  createQueueDriver,
  type DeliveriesFixture,
  type DeliveriesUnderTest,
  endpoint,
  event,
  START,
} from './deliveries.fixture.ts'

/** Cases that every store of webhook deliveries must pass. */
export function deliveriesContract(name: string, open: () => Promise<DeliveriesFixture>): void {
  describe(`deliveries: ${name}`, () => {
    let fixture: DeliveriesFixture
    let opened: DeliveriesUnderTest
    beforeEach(async () => {
      fixture = await open()
      opened = { deliveries: fixture.deliveries, queue: createQueueDriver(fixture.deliveries) }
    })
    afterEach(() => fixture.teardown())

    deliveriesFeedCases(() => opened)
    deliveriesQueueCases(() => opened)
    deliveriesPostponedCases(() => opened)
    deliveriesLogCases(() => opened)

    it('keep their rows over a restart, with the attempts in progress', async () => {
      const { queue } = opened
      await queue.record(endpoint('a'), event('e1', ['a']), event('e2', ['a']))
      expect(await queue.begin('a', 1, START)).toMatchObject([{ id: 'e1-a' }])
      const deliveries = await fixture.reopen()
      expect(await deliveries.readPosition()).toBe(1n)
      expect(await deliveries.begin([{ endpointId: 'a', count: 4 }], START)).toMatchObject([{ id: 'e2-a' }])
      expect((await deliveries.listAttempts(['e1', 'e2'])).map(({ status }) => status)).toEqual(['IN_PROGRESS', 'IN_PROGRESS'])
    })
  })
}
