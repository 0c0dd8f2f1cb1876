import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Kysely, Transaction } from 'kysely'
import type { Gateway } from '../ports.ts'
import { type Tables, tablesIn, tablesOf } from '../views/tables.ts'
import { withdrawOrder } from './withdraw-order.ts'

type Taking = {
  readonly orderId: string
  readonly ip: string
  readonly destination: string
  /** The account that orders, where the destination is its own proven node: unpaid orders of others do not stand in its way. */
  readonly ownerId?: string | undefined
}

const UNPAID: readonly OrderStatus[] = ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT']
const MAKES_ROOM = 'The owner of the node orders for it, and there were too many unpaid orders for this node.'

/** An order that was asked for and never began counts no longer than this. */
const PENDING_MS = MINUTE_MS

/**
 * Counts an order against the limits of unpaid and held ones before it is asked for.
 * @returns the sentence for the caller where a limit is reached; nothing is counted then
 */
export async function takeSlot(
  { views, clock, config }: Pick<Gateway, 'views' | 'clock' | 'config'>,
  taking: Taking,
): Promise<string | undefined> {
  const { ordersPerDestination, ordersPerIp } = config
  const now = clock.now()
  return views.db.transaction().execute(async (transaction) => {
    const trx = tablesIn(transaction)
    for (const name of [`destination ${taking.destination}`, `ip ${taking.ip}`]) await lock(trx, name, now)
    if (ordersPerDestination > 0 && (await atDestination(trx, taking, now)) >= ordersPerDestination)
      return `There are ${ordersPerDestination} unpaid or unfinished orders for this node; pay or wait for one of them first, or order with the account that this node is connected to.`
    if (ordersPerIp > 0 && (await fromIp(trx, taking.ip, now)) >= ordersPerIp)
      return `There are ${ordersPerIp} unpaid or unfinished orders from your address; pay or wait for one of them first.`
    const { orderId: order_id, ip, destination } = taking
    await trx.insertInto('gateway_order_slots').values({ order_id, ip, destination, at: now }).execute()
    return undefined
  })
}

/**
 * Withdraws the oldest unpaid orders of others for a node whose owner took a slot beyond the limit. Otherwise a stranger
 * could keep an owner from buying for as long as invoices last.
 */
export async function makeRoom(
  { views, clock, config, send, ids, log }: Pick<Gateway, 'views' | 'clock' | 'config' | 'send' | 'ids' | 'log'>,
  destination: string,
  ownerId: string,
): Promise<void> {
  const { ordersPerDestination } = config
  if (ordersPerDestination === 0) return
  const db = tablesOf(views)
  const excess = (await atDestination(db, { destination }, clock.now())) - ordersPerDestination
  if (excess <= 0) return
  const unpaid = await db
    .selectFrom('gateway_orders_v2')
    .select('id')
    .where('destination', '=', destination)
    // One whose payment comes at this moment has it back: the order may hear of the withdrawal first.
    .where((is) => is.or([is('status', '=', 'WAITING_FOR_SELLER_APPROVAL'), is('to_pay', '=', 1)]))
    .where('open', '=', 1)
    .where('buyer_account_id', '!=', ownerId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(excess)
    .execute()
  for (const { id } of unpaid) {
    log.warn({ order: id }, "the node's owner needs the place of an unpaid order; withdrawing it")
    await withdrawOrder({ send, ids }, id, MAKES_ROOM)
  }
}

/** For an order that came to nothing before it began. */
export async function freeSlot(views: Gateway['views'], orderId: string): Promise<void> {
  await tablesOf(views).deleteFrom('gateway_order_slots').where('order_id', '=', orderId).execute()
}

/** Slots whose order never began, and locks that nobody takes any more. */
export async function pruneSlots(views: Gateway['views'], now: number): Promise<void> {
  const db = tablesOf(views)
  await db
    .deleteFrom('gateway_slot_locks')
    .where('at', '<', now - PENDING_MS)
    .execute()
  await db
    .deleteFrom('gateway_order_slots')
    .where('at', '<', now - PENDING_MS)
    .where('order_id', 'not in', db.selectFrom('gateway_orders_v2').select('id'))
    .execute()
}

/** Whoever writes the row first goes first: two that count the same take turns. */
async function lock(trx: Transaction<Tables>, name: string, at: number): Promise<void> {
  await trx
    .insertInto('gateway_slot_locks')
    .values({ name, at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

type Counted = Pick<Taking, 'destination' | 'ownerId'> & Partial<Pick<Taking, 'ip'>>

/** All orders for a node; for its owner those that are held, its own, and those that its address has just begun. */
async function atDestination(db: Kysely<Tables>, { destination, ownerId, ip = '' }: Counted, now: number): Promise<number> {
  const orders = db
    .selectFrom('gateway_orders_v2')
    .select((count) => count.fn.countAll().as('open'))
    .where('destination', '=', destination)
    .where('open', '=', 1)
  const { open } = await (
    ownerId === undefined
      ? orders
      : orders.where((is) => is.or([is('buyer_account_id', '=', ownerId), is('status', 'not in', UNPAID)]))
  ).executeTakeFirstOrThrow()
  const slots = db
    .selectFrom('gateway_order_slots as s')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .select((count) => count.fn.countAll().as('begun'))
    .where('s.destination', '=', destination)
    .where('o.id', 'is', null)
    .where('s.at', '>', now - PENDING_MS)
  const { begun } = await (ownerId === undefined ? slots : slots.where('s.ip', '=', ip)).executeTakeFirstOrThrow()
  return Number(open) + Number(begun)
}

async function fromIp(trx: Transaction<Tables>, ip: string, now: number): Promise<number> {
  const { open } = await trx
    .selectFrom('gateway_order_slots as s')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .select((count) => count.fn.countAll().as('open'))
    .where('s.ip', '=', ip)
    .where((where) =>
      where.or([where('o.open', '=', 1), where.and([where('o.id', 'is', null), where('s.at', '>', now - PENDING_MS)])]),
    )
    .executeTakeFirstOrThrow()
  return Number(open)
}
