import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { countStatements } from '@penstock/testkit/statement-counter.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { migrateGateway } from '../../migrations.ts'
import { applyToOrders } from './orders.ts'
import { withMarketTables } from './tables.ts'

type Step = readonly [category: string, type: string, data: object]

const buyer = (n: number) => ({
  accountId: `10000000-0000-4000-8000-00000000000${n}`,
  key: { kind: 'order' as const, hash: `${n}`.repeat(64) },
})
const placed = (n: number): Step => ['order', 'OrderPlaced', { ...createOrderTerms(), approveBefore: null, buyer: buyer(n) }]
const started = (attempt: number): Step => ['order', 'AttemptStarted', { attempt, candidate: createCandidate(attempt) }]
const asked = (attempt: number): Step => ['order', 'ChannelOpenRequested', { attempt, openBefore: 7000 }]
const failed = (attempt: number): Step => ['order', 'AttemptFailed', { attempt, reason: 'The seller is offline.' }]
const held: readonly Step[] = [
  ['settlement', 'HoldRequested', { paymentHash: 'a'.repeat(64) }],
  ['settlement', 'HoldIssued', { invoice: 'lnbcrt1', expiresAt: 9000 }],
  ['order', 'HoldIssuedRecorded', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: 9000 }],
  ['settlement', 'HoldHeld', { expiryHeight: 300 }],
  ['order', 'PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 }],
]
const opened: readonly Step[] = [
  ['order', 'OutpointAccepted', { attempt: 2, outpoint: createOutpoint(1) }],
  ['channel', 'WatchStarted', { outpoint: createOutpoint(1), fromHeight: 10 }],
  ['channel', 'FundingConfirmed', { outpoint: createOutpoint(1), height: 11, shortChannelId: '11x1x0' }],
  ['order', 'FundingConfirmedRecorded', { outpoint: createOutpoint(1), height: 11, channelId: '11x1x0' }],
  ['order', 'ChannelOpened', { outpoint: createOutpoint(1), confirmations: 3 }],
  ['settlement', 'HoldSettled', { settledAt: 2000 }],
  ['order', 'OrderValid', { settledAt: 2000 }],
]
/** A sale by the second seller, and an order that ends before its payment. */
const sold: readonly Step[] = [placed(1), ...held, started(1), asked(1), failed(1), started(2), asked(2), ...opened]
const rejected: readonly Step[] = [placed(2), ['order', 'BuyerRejected', { reason: 'unreachable' }]]
const open: readonly Step[] = [placed(3), ...held, started(1)]

const orderIdOf = (order: number): string => `00000000-0000-7000-8000-00000000000${order}`

/** Creates the events of several orders, in turns, as they arrive from concurrent streams. */
function createEvents(...orders: readonly (readonly Step[])[]): readonly Event[] {
  const revisions = new Map<string, number>()
  const longest = Math.max(...orders.map(({ length }) => length))
  const turns = Array.from({ length: longest }, (_, turn) =>
    orders.flatMap((steps, order) => {
      const [step, id] = [steps[turn], orderIdOf(order)]
      return step ? [{ step, id }] : []
    }),
  )
  return turns.flat().map(({ step: [category, type, data], id }, at): Event => {
    const revision = (revisions.get(`${category}-${id}`) ?? -1) + 1
    revisions.set(`${category}-${id}`, revision)
    const origin = { id: `${category}-${id}/${revision}`, commandId: '', correlation: id }
    return { ...origin, category, aggregateId: id, revision, position: BigInt(at), at, fact: { type, v: 1, data } }
  })
}

const tables = [
  'gateway_orders_v2',
  'gateway_holds_v2',
  'gateway_channels_v2',
  'gateway_order_facts_v2',
  'gateway_sales_v2',
  'gateway_credentials',
  'gateway_order_slots',
] as const

const opens: Views[] = []
let views: Views
const openTables = async (): Promise<Views> => {
  const opening = openViews(':memory:')
  opens.push(opening)
  await migrateGateway(opening)
  return opening
}
beforeEach(async () => {
  views = await openTables()
})
afterEach(async () => {
  for (const one of opens.splice(0)) await one.close()
})

const apply = (db: Views, events: readonly Event[]): Promise<void> =>
  db.db.transaction().execute((trx) => applyToOrders(trx, events, { pageHashOf: (id) => `page of ${id}` }))

async function readRows(db: Views): Promise<readonly (readonly string[])[]> {
  const rows = tables.map((table) => withMarketTables(db).selectFrom(table).selectAll().execute())
  return (await Promise.all(rows)).map((ofTable) => ofTable.map((row) => JSON.stringify({ ...row })).toSorted())
}

test('facts that share a transaction leave the same rows as facts that are applied one by one', async () => {
  const events = createEvents(sold, rejected, open)
  const alone = await openTables()
  for (const event of events) await apply(alone, [event])
  const expected = await readRows(alone)
  assert.deepEqual(
    expected.map(({ length }) => length),
    [3, 2, 1, events.length, 4, 3, 0],
  )
  for (const size of [2, 7, events.length]) {
    const db = await openTables()
    for (let from = 0; from < events.length; from += size) await apply(db, events.slice(from, from + size))
    assert.deepEqual(await readRows(db), expected, `${size} facts in each transaction`)
  }
})

test('the number of statements of a transaction does not grow with its facts', async () => {
  const { views: counted, count } = countStatements(views)
  const events = createEvents(sold, rejected, open, sold, open, open)
  const countFor = async (some: readonly Event[]): Promise<number> => {
    const before = count()
    await apply(counted, some)
    return count() - before
  }
  // A read and a write of orders, holds and channels; one write of keys, sales and facts; and the deletion of slots.
  assert.equal(await countFor(events), 10)
})

test('a fact that changes no sale writes only its row and itself', async () => {
  const events = createEvents(open, open)
  await apply(views, events)
  const { views: counted, count } = countStatements(views)
  const seen = events.map((event): Event => ({ ...event, revision: 20, fact: { type: 'FundingSeenRecorded', v: 1, data: {} } }))
  await apply(counted, [seen[0]!, seen[1]!])
  assert.equal(count(), 3)
})

test('the candidate of an order loses its row if another seller makes the first attempt', async () => {
  await apply(views, createEvents([placed(1)]))
  const readAccounts = async () => {
    const rows = await withMarketTables(views).selectFrom('gateway_sales_v2').select(['account_id', 'attempt']).execute()
    return rows.map((row) => [row.account_id, row.attempt])
  }
  assert.deepEqual(await readAccounts(), [[createOrderTerms().candidate.sellerAccountId, 0]])
  const [, attempt] = createEvents([placed(1), started(2)])
  await apply(views, [attempt!])
  assert.deepEqual(await readAccounts(), [[createCandidate(2).sellerAccountId, 2]])
})

test('the slot of an order is deleted when the order ends, and not before', async () => {
  const slot = { order_id: orderIdOf(0), ip: '10.0.0.1', destination: 'node', at: 1 }
  await withMarketTables(views).insertInto('gateway_order_slots').values(slot).execute()
  const readSlots = () => withMarketTables(views).selectFrom('gateway_order_slots').select('order_id').execute()
  const events = createEvents(sold)
  await apply(views, events.slice(0, -1))
  assert.equal((await readSlots()).length, 1)
  await apply(views, events.slice(-1))
  assert.equal((await readSlots()).length, 0)
})
