import { isDeepStrictEqual } from 'node:util'
import { channelContract, type ChannelFact } from '@penstock/contracts/channel.ts'
import { orderContract, type OrderFact } from '@penstock/contracts/order.ts'
import { settlementContract, type SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import type { ProjectionTools } from '../../area.ts'
import { evolveChannelView, type ChannelView } from './channel-view.ts'
import { evolveHoldView, type HoldView } from './hold-view.ts'
import { isInvoiceDue } from './payout-due.ts'
import { isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import { isAwaitingPayment, evolveOrderView, type OrderView } from './order-view.ts'
import { toSaleRows } from './sales.ts'
import { withMarketTablesIn, type MarketTables } from './tables.ts'

export async function applyToOrders(trx: Transaction<object>, event: Event, { pageHashOf }: ProjectionTools): Promise<void> {
  const db = withMarketTablesIn(trx)
  // The runtime checked the fact against its contract.
  if (event.category === orderContract.category) await applyOrder(db, event as Event<OrderFact>, pageHashOf)
  else if (event.category === settlementContract.category) await applyHold(db, event as Event<SettlementFact>)
  else if (event.category === channelContract.category) await applyChannel(db, event as Event<ChannelFact>)
  else return
  await db
    .insertInto('gateway_order_facts_v2')
    .values({
      event_id: event.id,
      order_id: event.aggregateId,
      category: event.category,
      revision: event.revision,
      type: event.fact.type,
      at: event.at,
      data: JSON.stringify(event.fact.data),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function applyOrder(
  db: Transaction<MarketTables>,
  event: Event<OrderFact>,
  pageHashOf: (orderId: string) => string,
): Promise<void> {
  const id = event.aggregateId
  const row = await db.selectFrom('gateway_orders_v2').select('view').where('id', '=', id).executeTakeFirst()
  const before = row && (JSON.parse(row.view) as OrderView) // this function writes the view
  const view = evolveOrderView(before, event)
  const changes = {
    status: view.status,
    open: isOpenStatus(view.status) ? 1 : 0,
    to_pay: isAwaitingPayment(view) ? 1 : 0,
    view: JSON.stringify(view),
  }
  if (before) await db.updateTable('gateway_orders_v2').set(changes).where('id', '=', id).execute()
  else {
    const { source, buyer, destination } = view.terms
    const fixed = { id, source, buyer_account_id: buyer.accountId, destination: destination.pubkey, created_at: event.at }
    await db
      .insertInto('gateway_orders_v2')
      .values({ ...fixed, page_hash: pageHashOf(id), ...changes })
      .execute()
    await insertOrderCredential(db, view)
  }
  if (!isOpenStatus(view.status)) await db.deleteFrom('gateway_order_slots').where('order_id', '=', id).execute()
  // Most facts of an order change no sale.
  if (!before || !isDeepStrictEqual(toSaleRows(before), toSaleRows(view))) await replaceSales(db, view)
}

/** Inserts the order's key with the order, so that the buyer can use it before the fact of the account arrives. */
async function insertOrderCredential(db: Transaction<MarketTables>, { id, terms: { buyer } }: OrderView): Promise<void> {
  if (!buyer.key) return
  const orderId = buyer.key.kind === 'order' ? id : null
  await db
    .insertInto('gateway_credentials')
    .values({
      hash: buyer.key.hash,
      kind: buyer.key.kind,
      account_id: buyer.accountId,
      order_id: orderId,
      api_key_id: null,
      expires_at: null,
      revoked: 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function replaceSales(db: Transaction<MarketTables>, view: OrderView): Promise<void> {
  await db.deleteFrom('gateway_sales_v2').where('order_id', '=', view.id).execute()
  const rows = toSaleRows(view).map((sale) => ({
    order_id: view.id,
    account_id: sale.accountId,
    seller_pubkey: sale.sellerPubkey,
    buyer_pubkey: view.terms.destination.pubkey,
    attempt: sale.attempt,
    current: sale.isCurrent ? 1 : 0,
    action_needed: sale.actionNeeded ? 1 : 0,
    created_at: view.createdAt,
  }))
  await db.insertInto('gateway_sales_v2').values(rows).execute()
}

async function applyHold(db: Transaction<MarketTables>, event: Event<SettlementFact>): Promise<void> {
  const row = await db.selectFrom('gateway_holds_v2').select('view').where('order_id', '=', event.aggregateId).executeTakeFirst()
  const view = evolveHoldView(row && (JSON.parse(row.view) as HoldView), event) // this function writes the view
  const changes = { invoice_due: isInvoiceDue(view.owed) ? 1 : 0, view: JSON.stringify(view) }
  await db
    .insertInto('gateway_holds_v2')
    .values({ order_id: event.aggregateId, ...changes })
    .onConflict((conflict) => conflict.column('order_id').doUpdateSet(changes))
    .execute()
}

async function applyChannel(db: Transaction<MarketTables>, event: Event<ChannelFact>): Promise<void> {
  const row = await db
    .selectFrom('gateway_channels_v2')
    .select('view')
    .where('order_id', '=', event.aggregateId)
    .executeTakeFirst()
  const view = JSON.stringify(evolveChannelView(row && (JSON.parse(row.view) as ChannelView), event)) // written here
  await db
    .insertInto('gateway_channels_v2')
    .values({ order_id: event.aggregateId, view })
    .onConflict((conflict) => conflict.column('order_id').doUpdateSet({ view }))
    .execute()
}
