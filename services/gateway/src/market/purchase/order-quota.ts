import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Kysely, Transaction } from 'kysely'
import type { Gateway } from '../../ports.ts'
import { type MarketTables, withMarketTablesIn, withMarketTables } from '../views/tables.ts'
import { withdrawOrder } from './withdraw-order.ts'

type QuotaClaim = {
  readonly orderId: string
  readonly ip: string
  readonly destination: string
  /** The buyer's account if it owns the destination node. Unpaid orders of other accounts do not block the owner. */
  readonly ownerId?: string | undefined
}

const UNPAID_STATUSES: readonly OrderStatus[] = ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT']
const OWNER_PRIORITY_REASON = 'The owner of the node orders for it, and there were too many unpaid orders for this node.'

/** A slot is a row that counts one requested order. It counts for at most this time until its order is placed. */
const PENDING_MS = MINUTE_MS

/**
 * Counts an order against the limits of unpaid and unfinished orders, before the gateway requests its quote.
 * @returns the message for the caller if a limit is reached; the order is not counted then
 */
export async function claimQuota(
  { views, clock, config }: Pick<Gateway, 'views' | 'clock' | 'config'>,
  claim: QuotaClaim,
): Promise<string | undefined> {
  const { ordersPerDestination, ordersPerIp } = config
  const now = clock.now()
  return views.db.transaction().execute(async (transaction) => {
    const trx = withMarketTablesIn(transaction)
    for (const name of [`destination ${claim.destination}`, `ip ${claim.ip}`]) await lock(trx, name, now)
    if (ordersPerDestination > 0 && (await countForDestination(trx, claim, now)) >= ordersPerDestination)
      return `There are ${ordersPerDestination} unpaid or unfinished orders for this node; pay or wait for one of them first, or order with the account that this node is connected to.`
    if (ordersPerIp > 0 && (await countForIp(trx, claim.ip, now)) >= ordersPerIp)
      return `There are ${ordersPerIp} unpaid or unfinished orders from your address; pay or wait for one of them first.`
    const { orderId: order_id, ip, destination } = claim
    await trx.insertInto('gateway_order_slots').values({ order_id, ip, destination, at: now }).execute()
    return undefined
  })
}

/**
 * Withdraws the oldest unpaid orders of other accounts for a node, if an order of the node's owner exceeds the limit. Otherwise
 * strangers could prevent the owner from buying until the strangers' invoices expire.
 */
export async function withdrawExcessOrders(
  { views, clock, config, send, ids, log }: Pick<Gateway, 'views' | 'clock' | 'config' | 'send' | 'ids' | 'log'>,
  destination: string,
  ownerId: string,
): Promise<void> {
  const { ordersPerDestination } = config
  if (ordersPerDestination === 0) return
  const db = withMarketTables(views)
  const excess = (await countForDestination(db, { destination }, clock.now())) - ordersPerDestination
  if (excess <= 0) return
  const unpaid = await db
    .selectFrom('gateway_orders_v2')
    .select('id')
    .where('destination', '=', destination)
    // If a payment arrives at this moment, the order may process the withdrawal first and then cancel the payment.
    .where((eb) => eb.or([eb('status', '=', 'WAITING_FOR_SELLER_APPROVAL'), eb('to_pay', '=', 1)]))
    .where('open', '=', 1)
    .where('buyer_account_id', '!=', ownerId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(excess)
    .execute()
  for (const { id } of unpaid) {
    log.warn({ order: id }, "the node's owner needs the place of an unpaid order; withdrawing it")
    await withdrawOrder({ send, ids }, id, OWNER_PRIORITY_REASON)
  }
}

/** Deletes the slot of an order that was refused before it was placed. */
export async function releaseQuota(views: Gateway['views'], orderId: string): Promise<void> {
  await withMarketTables(views).deleteFrom('gateway_order_slots').where('order_id', '=', orderId).execute()
}

/** Deletes slots whose order was never placed, and unused locks. */
export async function pruneQuota(views: Gateway['views'], now: number): Promise<void> {
  const db = withMarketTables(views)
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

/** Locks a name for the transaction, so that two claims against the same limit run one after the other. */
async function lock(trx: Transaction<MarketTables>, name: string, at: number): Promise<void> {
  await trx
    .insertInto('gateway_slot_locks')
    .values({ name, at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

type QuotaScope = Pick<QuotaClaim, 'destination' | 'ownerId'> & Partial<Pick<QuotaClaim, 'ip'>>

/**
 * Counts the open orders for a node, and the slots whose order is not placed yet. For the node's owner it counts only the
 * owner's orders, paid orders of other accounts, and such slots of the owner's IP address.
 */
async function countForDestination(
  db: Kysely<MarketTables>,
  { destination, ownerId, ip = '' }: QuotaScope,
  now: number,
): Promise<number> {
  const orders = db
    .selectFrom('gateway_orders_v2')
    .select((count) => count.fn.countAll().as('open'))
    .where('destination', '=', destination)
    .where('open', '=', 1)
  const { open } = await (
    ownerId === undefined
      ? orders
      : orders.where((eb) => eb.or([eb('buyer_account_id', '=', ownerId), eb('status', 'not in', UNPAID_STATUSES)]))
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

async function countForIp(trx: Transaction<MarketTables>, ip: string, now: number): Promise<number> {
  const { open } = await trx
    .selectFrom('gateway_order_slots as s')
    .leftJoin('gateway_orders_v2 as o', 'o.id', 's.order_id')
    .select((count) => count.fn.countAll().as('open'))
    .where('s.ip', '=', ip)
    .where((eb) => eb.or([eb('o.open', '=', 1), eb.and([eb('o.id', 'is', null), eb('s.at', '>', now - PENDING_MS)])]))
    .executeTakeFirstOrThrow()
  return Number(open)
}
