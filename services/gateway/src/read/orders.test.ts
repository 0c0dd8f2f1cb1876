import { orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { timelineRecord } from '../graphql/timeline-record.ts'
import { type Stage, stage } from '../stage.contract.ts'
import { orderById, stepsOf } from './orders.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const outpoint = outpointOf(1)
const placed = { type: 'OrderPlaced', data: { ...orderTermsOf(), approveBefore: null } }
const named = { type: 'OutpointNamed', data: { attempt: 1, outpoint } }
const seen = { type: 'FundingSeen', data: { outpoint } }
const confirmed = { type: 'FundingConfirmed', data: { outpoint, height: 120, channelId: '120x1x0' } }

let market: Stage
beforeEach(async () => {
  market = await stage()
})
afterEach(() => market.close())

test('a timeline has the order of its stream, whatever the clocks of those who told it', async () => {
  await market.happens('order', ORDER, [placed, named], undefined, 2000)
  await market.happens('order', ORDER, [seen, confirmed], undefined, 1999)
  const { views } = market.gateway
  const timeline = timelineRecord(await stepsOf(views, ORDER), undefined)
  assert.deepEqual(
    timeline.map(({ fact }) => fact),
    ['OrderPlaced', 'OutpointNamed', 'FundingSeen', 'FundingConfirmed'],
  )
  assert.equal(timeline.at(-1)?.status, (await orderById(views, ORDER))?.order.status)
})

test('between streams time decides, and a step with an early time stands no earlier than the one before it', async () => {
  await market.happens('order', ORDER, [placed], undefined, 1000)
  await market.happens(
    'settlement',
    ORDER,
    [{ type: 'CancelRequested', data: { reason: 'released', sentence: 'x' } }],
    undefined,
    2500,
  )
  await market.happens('order', ORDER, [named], undefined, 3000)
  await market.happens('order', ORDER, [seen], undefined, 2000)
  await market.happens('settlement', ORDER, [{ type: 'HoldCancelled', data: { at: 1 } }], undefined, 3500)
  const steps = await stepsOf(market.gateway.views, ORDER, ['order', 'settlement'])
  assert.deepEqual(
    steps.map(({ type, at }) => [type, at]),
    [
      ['OrderPlaced', 1000],
      ['CancelRequested', 2500],
      ['OutpointNamed', 3000],
      ['FundingSeen', 2000],
      ['HoldCancelled', 3500],
    ],
  )
})
