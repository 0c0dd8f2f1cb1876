import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Transaction } from 'kysely'
import type { Gateway } from '../ports.ts'
import { type Tables, tablesIn, tablesOf } from '../views/tables.ts'

type Taking = { readonly orderId: string; readonly ip: string; readonly destination: string }

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
    if (ordersPerDestination > 0 && (await atDestination(trx, taking.destination, now)) >= ordersPerDestination)
      return `There are ${ordersPerDestination} unpaid or unfinished orders for this node; pay or wait for one of them first.`
    if (ordersPerIp > 0 && (await fromIp(trx, taking.ip, now)) >= ordersPerIp)
      return `There are ${ordersPerIp} unpaid or unfinished orders from your address; pay or wait for one of them first.`
    const { orderId: order_id, ip, destination } = taking
    await trx.insertInto('gateway_order_slots').values({ order_id, ip, destination, at: now }).execute()
    return undefined
  })
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

async function atDestination(trx: Transaction<Tables>, destination: string, now: number): Promise<number> {
  const { open } = await trx
    .selectFrom('gateway_orders_v2')
    .select((count) => count.fn.countAll().as('open'))
    .where('destination', '=', destination)
    .where('open', '=', 1)
    .executeTakeFirstOrThrow()
  const { begun } = await trx
    .selectFrom('gateway_order_slots as s')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .select((count) => count.fn.countAll().as('begun'))
    .where('s.destination', '=', destination)
    .where('o.id', 'is', null)
    .where('s.at', '>', now - PENDING_MS)
    .executeTakeFirstOrThrow()
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
