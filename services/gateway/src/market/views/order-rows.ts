import { isDeepStrictEqual } from 'node:util'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { evolveAll, idsOf } from './evolve-all.ts'
import { evolveOrderView, isAwaitingPayment, type OrderView } from './order-view.ts'
import { toSaleRows } from './sales.ts'
import type { MarketTables } from './tables.ts'

type ChangedOrder = { readonly before: OrderView | undefined; readonly after: OrderView }

/** Applies facts of orders to the rows of the orders, of their sales, and of the buyers' keys. */
export async function applyToOrderRows(
  db: Transaction<MarketTables>,
  events: readonly Event<OrderFact>[],
  pageHashOf: (orderId: string) => string,
): Promise<void> {
  const stored = await db
    .selectFrom('gateway_orders_v2')
    .select(['id', 'page_hash', 'view'])
    .where('id', 'in', idsOf(events))
    .execute()
  const before = new Map(stored.map(({ id, view }) => [id, JSON.parse(view) as OrderView])) // this function writes the views
  const pageHashes = new Map(stored.map(({ id, page_hash }) => [id, page_hash]))
  const orders = evolveAll(before, events, evolveOrderView).map(([id, after]) => ({ before: before.get(id), after }))
  await upsertOrders(
    db,
    orders.map(({ after }) => ({ view: after, pageHash: pageHashes.get(after.id) ?? pageHashOf(after.id) })),
  )
  await insertOrderCredentials(
    db,
    orders.flatMap((order) => (order.before ? [] : order.after)),
  )
  const ended = orders.filter(
    (order) => !isOpenStatus(order.after.status) && (!order.before || isOpenStatus(order.before.status)),
  )
  if (ended.length > 0) {
    const endedIds = ended.map(({ after }) => after.id)
    await db.deleteFrom('gateway_order_slots').where('order_id', 'in', endedIds).execute()
  }
  await updateSales(db, orders)
}

type OrderRow = { readonly view: OrderView; readonly pageHash: string }

async function upsertOrders(db: Transaction<MarketTables>, orders: readonly OrderRow[]): Promise<void> {
  const rows = orders.map(({ view, pageHash }) => ({
    id: view.id,
    status: view.status,
    open: isOpenStatus(view.status) ? 1 : 0,
    to_pay: isAwaitingPayment(view) ? 1 : 0,
    source: view.terms.source,
    buyer_account_id: view.terms.buyer.accountId,
    destination: view.terms.destination.pubkey,
    page_hash: pageHash,
    created_at: view.createdAt,
    view: JSON.stringify(view),
  }))
  await db
    .insertInto('gateway_orders_v2')
    .values(rows)
    // The other columns never change.
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((row) => ({
        status: row.ref('excluded.status'),
        open: row.ref('excluded.open'),
        to_pay: row.ref('excluded.to_pay'),
        view: row.ref('excluded.view'),
      })),
    )
    .execute()
}

/** Inserts the keys of new orders with the orders, so that buyers can use them before the facts of the accounts arrive. */
async function insertOrderCredentials(db: Transaction<MarketTables>, orders: readonly OrderView[]): Promise<void> {
  const rows = orders.flatMap(({ id, terms: { buyer } }) => {
    if (!buyer.key) return []
    const { hash, kind } = buyer.key
    const order_id = kind === 'order' ? id : null
    return [{ hash, kind, account_id: buyer.accountId, order_id, api_key_id: null, expires_at: null, revoked: 0 }]
  })
  if (rows.length === 0) return
  await db
    .insertInto('gateway_credentials')
    // The projection of accounts inserts the same keys in this order, so the two seldom wait for each other.
    .values(rows.toSorted((a, b) => (a.account_id < b.account_id ? -1 : 1)))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Writes the sales of the orders whose sales have changed. Most facts of an order change no sale. */
async function updateSales(db: Transaction<MarketTables>, orders: readonly ChangedOrder[]): Promise<void> {
  const changes = orders
    .map(({ before, after }) => ({ order: after, old: before ? toSaleRows(before) : [], sales: toSaleRows(after) }))
    .filter(({ old, sales }) => !isDeepStrictEqual(old, sales))
  if (changes.length === 0) return
  for (const { order, old, sales } of changes) {
    const accountIds = sales.map(({ accountId }) => accountId)
    // Only the candidate of an order without an attempt may lose its row.
    if (old.every(({ accountId }) => accountIds.includes(accountId))) continue
    await db.deleteFrom('gateway_sales_v2').where('order_id', '=', order.id).where('account_id', 'not in', accountIds).execute()
  }
  await upsertSales(
    db,
    changes.flatMap(({ order, sales }) =>
      sales.map((sale) => ({
        order_id: order.id,
        account_id: sale.accountId,
        seller_pubkey: sale.sellerPubkey,
        buyer_pubkey: order.terms.destination.pubkey,
        attempt: sale.attempt,
        current: sale.isCurrent ? 1 : 0,
        action_needed: sale.actionNeeded ? 1 : 0,
        created_at: order.createdAt,
      })),
    ),
  )
}

async function upsertSales(db: Transaction<MarketTables>, rows: readonly MarketTables['gateway_sales_v2'][]): Promise<void> {
  await db
    .insertInto('gateway_sales_v2')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['order_id', 'account_id']).doUpdateSet((row) => ({
        seller_pubkey: row.ref('excluded.seller_pubkey'),
        attempt: row.ref('excluded.attempt'),
        current: row.ref('excluded.current'),
        action_needed: row.ref('excluded.action_needed'),
      })),
    )
    .execute()
}
