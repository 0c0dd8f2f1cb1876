import type { Lightning } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Market } from './market.ts'
import { openStage, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

test('the funding of an order that is being closed waits, and is published if the payment is taken after all', async () => {
  const order = stage.place('one')
  let looks = 0
  const closing: Market = {
    ...stage.market,
    nameFunding: async (orderId, attestation) => {
      await stage.market.nameFunding(orderId, attestation)
      order.closing = 'The operator closes it.'
    },
    standing: (id) => (looks++, stage.market.standing(id)),
  }
  const { journal } = stage.start({ market: closing })
  await until('it was looked at more than once', () => looks > 2)
  expect(journal.sales.get('one')?.opening.state).toBe('named')
  expect(stage.simnet.control.channels('ada')).toEqual([])
  order.closing = undefined
  await stage.complete(order)
  expect(stage.openings).toHaveLength(1)
})

test('a funding that is out is neither sent again nor paid more for while its order is being closed', async () => {
  stage.simnet.control.feeFloor(3)
  const order = stage.place('one')
  let [sent, looks] = [0, 0]
  const { channels } = stage.seller
  const counting: Lightning = {
    ...stage.seller,
    channels: { ...channels, publish: (one) => (sent++, channels.publish(one)) },
  }
  const market: Market = { ...stage.market, standing: (id) => (looks++, stage.market.standing(id)) }
  const { journal } = stage.start({ lightning: counting, market })
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  order.closing = 'The operator closes it.'
  // A look that began before the order was closed is over with the one after it.
  const seen = looks
  await until('it was looked at', () => looks > seen + 1)
  const before = sent
  stage.simnet.control.mine(5)
  await until('it was looked at again', () => looks > seen + 4)
  expect(sent).toBe(before)
  expect(journal.sales.get('one')?.opening).toMatchObject({ state: 'published', feeRate: 2 })
  Object.assign(order, { status: 'ADMIN_CLOSED', closing: undefined })
  await until('the sale is over', () => journal.sales.size === 0)
})
