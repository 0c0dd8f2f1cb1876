import { createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { toTimelineRecord } from '../records/timeline-record.ts'
import { type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'
import { findStoredOrder, listOrderFacts } from './orders.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const outpoint = createOutpoint(1)
const placed = { type: 'OrderPlaced', data: { ...createOrderTerms(), approveBefore: null } }
const named = { type: 'OutpointAccepted', data: { attempt: 1, outpoint } }
const seen = { type: 'FundingSeenRecorded', data: { outpoint } }
const confirmed = { type: 'FundingConfirmedRecorded', data: { outpoint, height: 120, channelId: '120x1x0' } }

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
})
afterEach(() => market.close())

test('a timeline has the order of its stream, even if a later fact has an earlier timestamp', async () => {
  await market.projectFacts('order', ORDER, [placed, named], undefined, 2000)
  await market.projectFacts('order', ORDER, [seen, confirmed], undefined, 1999)
  const { views } = market.gateway
  const timeline = toTimelineRecord(await listOrderFacts(views, ORDER), undefined)
  assert.deepEqual(
    timeline.map(({ fact }) => fact),
    ['OrderPlaced', 'OutpointAccepted', 'FundingSeenRecorded', 'FundingConfirmedRecorded'],
  )
  assert.equal(timeline.at(-1)?.status, (await findStoredOrder(views, ORDER))?.order.status)
})

test('the facts of two streams are merged by time, and the facts of one stream stay in their order', async () => {
  await market.projectFacts('order', ORDER, [placed], undefined, 1000)
  await market.projectFacts(
    'settlement',
    ORDER,
    [{ type: 'CancelRequested', data: { reason: 'released', sentence: 'x' } }],
    undefined,
    2500,
  )
  await market.projectFacts('order', ORDER, [named], undefined, 3000)
  await market.projectFacts('order', ORDER, [seen], undefined, 2000)
  await market.projectFacts('settlement', ORDER, [{ type: 'HoldCancelled', data: { at: 1 } }], undefined, 3500)
  const steps = await listOrderFacts(market.gateway.views, ORDER, ['order', 'settlement'])
  assert.deepEqual(
    steps.map(({ type, at }) => [type, at]),
    [
      ['OrderPlaced', 1000],
      ['CancelRequested', 2500],
      ['OutpointAccepted', 3000],
      ['FundingSeenRecorded', 2000],
      ['HoldCancelled', 3500],
    ],
  )
})
