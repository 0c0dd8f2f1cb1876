import { DAY_MS } from '@penstock/kernel/time.ts'
import type { PrunePorts } from '../area.ts'
import { findAccount } from './read/accounts.ts'
import { iterateAccountOrders } from '../market/read/account-orders.ts'
import { withMarketTables } from '../market/views/tables.ts'
import { deleteEnvironments } from '../payments/erase.ts'
import { withAccountTables } from './views/tables.ts'
import { withdrawOrder } from '../market/purchase/withdraw-order.ts'

/** An order that was in progress when its account was deleted appears in the read model well within this time. */
const LATE_ORDER_WINDOW_MS = DAY_MS

/** Erases deleted accounts again, because a gateway may crash before it deletes the texts, and an order may arrive later. */
export async function eraseDeletedAccounts(gateway: PrunePorts): Promise<void> {
  const erasures = await withAccountTables(gateway.views).selectFrom('gateway_erasures').select('account_id').execute()
  for (const { account_id } of erasures) await eraseAccount(gateway, account_id)
}

/**
 * Erases an account; repeating it is harmless. Withdraws the unpaid orders that the check before the deletion missed, and
 * deletes the account's environments with their texts.
 */
export async function eraseAccount(gateway: PrunePorts, accountId: string): Promise<void> {
  const { views, clock, log } = gateway
  const db = withMarketTables(views)
  const bought = db.selectFrom('gateway_orders_v2').where('buyer_account_id', '=', accountId).where('open', '=', 1)
  const unpaid = bought.where('status', 'in', ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT'])
  for (const { id } of await unpaid.select('id').execute()) {
    log.warn({ order: id }, 'an order of a deleted account is open; withdrawing it')
    await withdrawOrder(gateway, id, 'The account of its buyer was deleted.')
  }
  await eraseTexts(gateway, accountId)
  const hasEnvironments = await deleteEnvironments(gateway, accountId)
  const open = await bought.select('id').executeTakeFirst()
  if (open || hasEnvironments) return
  await withAccountTables(views)
    .deleteFrom('gateway_erasures')
    .where('account_id', '=', accountId)
    .where('at', '<', clock.now() - LATE_ORDER_WINDOW_MS)
    .execute()
}

/** Deletes the account's texts and IP addresses, and revokes its credentials, also the key of an order that arrived late. */
async function eraseTexts({ views, records }: PrunePorts, accountId: string): Promise<void> {
  const db = withAccountTables(views)
  const account = await findAccount(views, accountId)
  const keys = await db.selectFrom('gateway_api_keys').select('name_record').where('account_id', '=', accountId).execute()
  const recordIds = [account?.email_record, account?.password_record, ...keys.map(({ name_record }) => name_record)]
  await records.delete(...recordIds.flatMap((id) => id ?? []))
  for await (const { order } of iterateAccountOrders(views, accountId)) {
    if (order.terms.buyer.accountId === accountId && order.terms.record) await records.delete(order.terms.record.id)
    if (order.terms.candidate.sellerAccountId === accountId && order.rejection) await records.delete(order.rejection.id)
  }
  const market = withMarketTables(views)
  const bought = market.selectFrom('gateway_orders_v2').select('id').where('buyer_account_id', '=', accountId)
  await market.deleteFrom('gateway_order_slots').where('order_id', 'in', bought).execute()
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
