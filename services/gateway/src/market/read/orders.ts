import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { HoldView } from '../views/hold-view.ts'
import type { OrderView } from '../views/order-view.ts'
import { withMarketTables } from '../views/tables.ts'
import { countTotal, type ListPage, type Page } from '../../list-page.ts'

type Db = Pick<Views, 'db'>

/** The views of an order, folded from its order, settlement and channel streams. Each view may be ahead of the others. */
export type StoredOrder = {
  readonly order: OrderView
  readonly hold: HoldView | undefined
  readonly channel: ChannelView | undefined
}

type Row = { view: string; hold: string | null; channel: string | null }

const selectOrders = (views: Db) =>
  withMarketTables(views)
    .selectFrom('gateway_orders_v2 as o')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
    .select(['o.view', 'h.view as hold', 'c.view as channel'])

// The projections write these texts from the same types.
export const toStoredOrder = ({ view, hold, channel }: Row): StoredOrder => ({
  order: JSON.parse(view) as OrderView,
  hold: hold === null ? undefined : (JSON.parse(hold) as HoldView),
  channel: channel === null ? undefined : (JSON.parse(channel) as ChannelView),
})

/**
 * Returns the watcher's view if it belongs to the order's current outpoint, else undefined.
 */
export const getCurrentChannel = ({ order, channel }: Pick<StoredOrder, 'order' | 'channel'>): ChannelView | undefined =>
  order.outpoint !== null && channel?.outpoint === order.outpoint ? channel : undefined

export async function findStoredOrder(views: Db, id: string): Promise<StoredOrder | undefined> {
  const row = await selectOrders(views).where('o.id', '=', id).executeTakeFirst()
  return row && toStoredOrder(row)
}

/**
 * Whether only settlement facts of an order are known. Its own facts have not arrived yet, or a newer release wrote them before
 * a downgrade. The answer "not found" would make a party abandon a channel that is being paid for.
 */
export async function isOrderUnavailable(views: Db, id: string): Promise<boolean> {
  const row = await withMarketTables(views)
    .selectFrom('gateway_holds_v2 as h')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 'h.order_id')
    .select('h.order_id')
    .where('h.order_id', '=', id)
    .where('o.id', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** @param pageHash the hash of the token in the URL of the order's pages: see `hashPageToken` in pages/page-url.ts */
export async function findOrderByPageHash(views: Db, pageHash: string): Promise<StoredOrder | undefined> {
  const row = await selectOrders(views).where('o.page_hash', '=', pageHash).executeTakeFirst()
  return row && toStoredOrder(row)
}

export type BuyerOrderEntry = { readonly id: string; readonly status: OrderStatus; readonly createdAt: number }

/** Lists a buyer's orders, newest first. @param only the order of an order key; null lists all orders */
export async function listOrdersOfBuyer(
  views: Db,
  accountId: string,
  only: string | null,
  { limit, offset }: Page,
): Promise<ListPage<BuyerOrderEntry>> {
  const buyerOrders = withMarketTables(views)
    .selectFrom('gateway_orders_v2')
    .where('buyer_account_id', '=', accountId)
    .$if(only !== null, (query) => query.where('id', '=', only))
  const list = await buyerOrders
    .select(['id', 'status', 'created_at'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const total = await countTotal({ limit, offset }, list.length, () =>
    buyerOrders.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return {
    total,
    list: list.map(({ id, status, created_at }) => ({ id, status: status as OrderStatus, createdAt: created_at })), // the projection writes it
  }
}

/** A fact about an order, as its stream recorded it. */
export type RecordedFact = {
  readonly id: string
  readonly category: string
  readonly type: string
  readonly at: number
  readonly data: object
}

/** Lists an order's facts of these streams, oldest first. Streams are merged by time; the facts of one stream stay in order. */
export async function listOrderFacts(
  views: Db,
  orderId: string,
  categories: readonly string[] = ['order'],
): Promise<readonly RecordedFact[]> {
  const found = await withMarketTables(views)
    .selectFrom('gateway_order_facts_v2')
    .selectAll()
    .where('order_id', '=', orderId)
    .where('category', 'in', categories)
    .orderBy('category')
    .orderBy('revision')
    .execute()
  return sortByTime(found).map(({ event_id, category, type, at, data }) => ({
    id: event_id,
    category,
    type,
    at,
    data: JSON.parse(data) as object,
  }))
}

/**
 * A fact has the time of its sender's clock, so a later fact of a stream may have an earlier time.
 * @param rows the facts of one stream after the other, each stream in order
 */
function sortByTime<Row extends { readonly category: string; readonly at: number }>(rows: readonly Row[]): readonly Row[] {
  const latest = new Map<string, number>()
  const timedRows = rows.map((row) => {
    const after = Math.max(row.at, latest.get(row.category) ?? 0)
    latest.set(row.category, after)
    return { row, after }
  })
  return timedRows.toSorted((one, other) => one.after - other.after).map(({ row }) => row)
}
