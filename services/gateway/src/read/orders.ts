import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Page } from '../input.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { HoldView } from '../views/hold-view.ts'
import type { OrderView } from '../views/order-view.ts'
import { tablesOf } from '../views/tables.ts'

type Db = Pick<Views, 'db'>

/** An order as its streams tell it; each part may be a moment ahead of the others. */
export type StoredOrder = {
  readonly order: OrderView
  readonly hold: HoldView | undefined
  readonly channel: ChannelView | undefined
}

type Row = { view: string; hold: string | null; channel: string | null }

const rows = (views: Db) =>
  tablesOf(views)
    .selectFrom('gateway_orders_v2 as o')
    .leftJoin('gateway_holds_v2 as h', 'h.order_id', 'o.id')
    .leftJoin('gateway_channels_v2 as c', 'c.order_id', 'o.id')
    .select(['o.view', 'h.view as hold', 'c.view as channel'])

// The texts are written by the projections from these very types.
export const stored = ({ view, hold, channel }: Row): StoredOrder => ({
  order: JSON.parse(view) as OrderView,
  hold: hold === null ? undefined : (JSON.parse(hold) as HoldView),
  channel: channel === null ? undefined : (JSON.parse(channel) as ChannelView),
})

/** What the watcher says of the outpoint that counts; of one that was replaced it says nothing about this order. */
export const channelOf = ({ order, channel }: Pick<StoredOrder, 'order' | 'channel'>): ChannelView | undefined =>
  order.outpoint !== null && channel?.outpoint === order.outpoint ? channel : undefined

export async function orderById(views: Db, id: string): Promise<StoredOrder | undefined> {
  const row = await rows(views).where('o.id', '=', id).executeTakeFirst()
  return row && stored(row)
}

/**
 * Whether an order is known by its money alone. Its own facts are on their way, or a newer release has written them and is no
 * longer here: who is told that there is no such order would give up a channel that is being paid for.
 */
export async function isUnread(views: Db, id: string): Promise<boolean> {
  const row = await tablesOf(views)
    .selectFrom('gateway_holds_v2 as h')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 'h.order_id')
    .select('h.order_id')
    .where('h.order_id', '=', id)
    .where('o.id', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** @param pageHash of the token in the address of the order's pages: see `pageHash` in pages/address.ts */
export async function orderByPage(views: Db, pageHash: string): Promise<StoredOrder | undefined> {
  const row = await rows(views).where('o.page_hash', '=', pageHash).executeTakeFirst()
  return row && stored(row)
}

export type Entry = { readonly id: string; readonly status: OrderStatus; readonly createdAt: number }
export type Listed<T> = { readonly total: number; readonly list: readonly T[] }

/** How many there are in all. A first page that is not full has all of them. */
export async function totalOf(
  { limit, offset }: Page,
  found: number,
  count: () => Promise<{ readonly total: string | number | bigint }>,
): Promise<number> {
  return offset === 0 && found < limit ? found : Number((await count()).total)
}

/** A buyer's orders, newest first. @param only the one order that an order key reads */
export async function ordersOfBuyer(
  views: Db,
  accountId: string,
  only: string | null,
  { limit, offset }: Page,
): Promise<Listed<Entry>> {
  const mine = tablesOf(views)
    .selectFrom('gateway_orders_v2')
    .where('buyer_account_id', '=', accountId)
    .$if(only !== null, (query) => query.where('id', '=', only))
  const list = await mine
    .select(['id', 'status', 'created_at'])
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const total = await totalOf({ limit, offset }, list.length, () =>
    mine.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return {
    total,
    list: list.map(({ id, status, created_at }) => ({ id, status: status as OrderStatus, createdAt: created_at })), // written by the projection
  }
}

/** One step on an order's way, as its own stream recorded it. */
export type Step = {
  readonly id: string
  readonly category: string
  readonly type: string
  readonly at: number
  readonly data: object
}

/** Every fact of these streams about the order, oldest first: each stream in its own order, and beside the others by time. */
export async function stepsOf(views: Db, orderId: string, categories: readonly string[] = ['order']): Promise<readonly Step[]> {
  const found = await tablesOf(views)
    .selectFrom('gateway_order_facts_v2')
    .selectAll()
    .where('order_id', '=', orderId)
    .where('category', 'in', categories)
    .orderBy('category')
    .orderBy('revision')
    .execute()
  return byTime(found).map(({ event_id, category, type, at, data }) => ({
    id: event_id,
    category,
    type,
    at,
    data: JSON.parse(data) as object,
  }))
}

/**
 * A fact's time is by the clock of whoever sent the command, and of two of one stream the later may have the earlier one.
 * @param rows stream by stream, each in its order
 */
function byTime<Row extends { readonly category: string; readonly at: number }>(rows: readonly Row[]): readonly Row[] {
  const latest = new Map<string, number>()
  const placed = rows.map((row) => {
    const after = Math.max(row.at, latest.get(row.category) ?? 0)
    latest.set(row.category, after)
    return { row, after }
  })
  return placed.toSorted((one, other) => one.after - other.after).map(({ row }) => row)
}
