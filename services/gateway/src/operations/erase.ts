import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Gateway } from '../ports.ts'
import { accountById } from '../read/accounts.ts'
import { ordersTouching } from '../read/account-orders.ts'
import { tablesOf } from '../views/tables.ts'
import { withdrawOrder } from './withdraw-order.ts'

export type Erasing = Pick<Gateway, 'views' | 'records' | 'clock' | 'ids' | 'send' | 'log'>

/** An order that was on its way when its account was deleted shows in the read model long before. */
const LATE_ORDERS_MS = DAY_MS

/** Deletes the texts of deleted accounts again: a gateway may die before they are gone, and an order may come later. */
export async function eraseDeleted(gateway: Erasing): Promise<void> {
  const due = await tablesOf(gateway.views).selectFrom('gateway_erasures').select('account_id').execute()
  for (const { account_id } of due) await eraseAccount(gateway, account_id)
}

/** Again is harmless. Orders that slipped past the check before the deletion are withdrawn, unless they are paid. */
export async function eraseAccount(gateway: Erasing, accountId: string): Promise<void> {
  const { views, clock, log } = gateway
  const db = tablesOf(views)
  const bought = db.selectFrom('gateway_orders_v2').where('buyer_account_id', '=', accountId).where('open', '=', 1)
  const unpaid = bought.where('status', 'in', ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT'])
  for (const { id } of await unpaid.select('id').execute()) {
    log.warn({ order: id }, 'an order of a deleted account is open; withdrawing it')
    await withdrawOrder(gateway, id, 'The account of its buyer was deleted.')
  }
  await eraseTexts(gateway, accountId)
  const open = await bought.select('id').executeTakeFirst()
  if (open) return
  await db
    .deleteFrom('gateway_erasures')
    .where('account_id', '=', accountId)
    .where('at', '<', clock.now() - LATE_ORDERS_MS)
    .execute()
}

/** The gateway's notes of a person's addresses go too, and so does the key of an order that came late. */
async function eraseTexts({ views, records }: Erasing, accountId: string): Promise<void> {
  const db = tablesOf(views)
  const account = await accountById(views, accountId)
  const keys = await db.selectFrom('gateway_api_keys').select('name_record').where('account_id', '=', accountId).execute()
  const own = [account?.email_record, account?.password_record, ...keys.map(({ name_record }) => name_record)]
  for (const id of own) if (id) await records.delete(id)
  for await (const { order } of ordersTouching(views, accountId)) {
    if (order.terms.buyer.accountId === accountId && order.terms.record) await records.delete(order.terms.record.id)
    if (order.terms.candidate.sellerAccountId === accountId && order.rejection) await records.delete(order.rejection.id)
  }
  const bought = db.selectFrom('gateway_orders_v2').select('id').where('buyer_account_id', '=', accountId)
  await db.deleteFrom('gateway_order_slots').where('order_id', 'in', bought).execute()
  const tokens = db.selectFrom('gateway_credentials').select('hash').where('account_id', '=', accountId)
  await db.deleteFrom('gateway_sessions').where('hash', 'in', tokens).execute()
  await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('account_id', '=', accountId).execute()
  await db
    .updateTable('gateway_accounts')
    .set({ email_record: null, password_record: null })
    .where('id', '=', accountId)
    .execute()
  await db.updateTable('gateway_api_keys').set({ name_record: null }).where('account_id', '=', accountId).execute()
}
