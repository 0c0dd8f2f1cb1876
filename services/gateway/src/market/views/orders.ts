import { channelContract, type ChannelFact } from '@penstock/contracts/channel.ts'
import { orderContract, type OrderFact } from '@penstock/contracts/order.ts'
import { settlementContract, type SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import type { ProjectionTools } from '../../area.ts'
import { evolveChannelView, type ChannelView } from './channel-view.ts'
import { evolveAll, idsOf } from './evolve-all.ts'
import { evolveHoldView, type HoldView } from './hold-view.ts'
import { isInvoiceDue } from './payout-due.ts'
import { applyToOrderRows } from './order-rows.ts'
import { withMarketTablesIn, type MarketTables } from './tables.ts'

/** Applies the facts of one transaction. Each row is read and written once, whatever the number of its facts. */
export async function applyToOrders(
  trx: Transaction<object>,
  events: readonly Event[],
  { pageHashOf }: ProjectionTools,
): Promise<void> {
  const db = withMarketTablesIn(trx)
  // The runtime checked each fact against the contract of its category.
  const [orders, holds, channels] = [orderContract, settlementContract, channelContract].map(({ category }) =>
    events.filter((event) => event.category === category),
  )
  if (orders?.length) await applyToOrderRows(db, orders as readonly Event<OrderFact>[], pageHashOf)
  if (holds?.length) await applyToHolds(db, holds as readonly Event<SettlementFact>[])
  if (channels?.length) await applyToChannels(db, channels as readonly Event<ChannelFact>[])
  await recordFacts(
    db,
    [orders, holds, channels].flatMap((some) => some ?? []),
  )
}

async function applyToHolds(db: Transaction<MarketTables>, events: readonly Event<SettlementFact>[]): Promise<void> {
  const stored = await db.selectFrom('gateway_holds_v2').selectAll().where('order_id', 'in', idsOf(events)).execute()
  // This function writes the views.
  const before = new Map(stored.map((row) => [row.order_id, JSON.parse(row.view) as HoldView]))
  const rows = evolveAll(before, events, evolveHoldView).map(([order_id, view]) => ({
    order_id,
    invoice_due: isInvoiceDue(view.owed) ? 1 : 0,
    view: JSON.stringify(view),
  }))
  await db
    .insertInto('gateway_holds_v2')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('order_id')
        .doUpdateSet((row) => ({ invoice_due: row.ref('excluded.invoice_due'), view: row.ref('excluded.view') })),
    )
    .execute()
}

async function applyToChannels(db: Transaction<MarketTables>, events: readonly Event<ChannelFact>[]): Promise<void> {
  const stored = await db.selectFrom('gateway_channels_v2').selectAll().where('order_id', 'in', idsOf(events)).execute()
  // This function writes the views.
  const before = new Map(stored.map((row) => [row.order_id, JSON.parse(row.view) as ChannelView]))
  const rows = evolveAll(before, events, evolveChannelView).map(([order_id, view]) => ({
    order_id,
    view: JSON.stringify(view),
  }))
  await db
    .insertInto('gateway_channels_v2')
    .values(rows)
    .onConflict((conflict) => conflict.column('order_id').doUpdateSet((row) => ({ view: row.ref('excluded.view') })))
    .execute()
}

async function recordFacts(db: Transaction<MarketTables>, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ id, aggregateId, category, revision, at, fact }) => ({
    event_id: id,
    order_id: aggregateId,
    category,
    revision,
    type: fact.type,
    at,
    data: JSON.stringify(fact.data),
  }))
  await db
    .insertInto('gateway_order_facts_v2')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
