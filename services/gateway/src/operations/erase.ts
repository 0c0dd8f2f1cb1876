import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import { accountById } from '../read/accounts.ts'
import { ordersTouching } from '../read/account-orders.ts'
import { tablesOf } from '../views/tables.ts'

type Db = Pick<Views, 'db'>

/** Deletes the texts of every deleted account that still has some: whoever deletes an account may die before its texts are gone. */
export async function eraseDeleted(views: Db, records: Pick<Records, 'delete'>): Promise<void> {
  const due = await tablesOf(views).selectFrom('gateway_erasures').select('account_id').execute()
  for (const { account_id } of due) await eraseTexts(views, records, account_id)
}

/** Again is harmless. What the gateway noted of a person's addresses goes too. */
export async function eraseTexts(views: Db, records: Pick<Records, 'delete'>, accountId: string): Promise<void> {
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
  await db
    .updateTable('gateway_accounts')
    .set({ email_record: null, password_record: null })
    .where('id', '=', accountId)
    .execute()
  await db.updateTable('gateway_api_keys').set({ name_record: null }).where('account_id', '=', accountId).execute()
  await db.deleteFrom('gateway_erasures').where('account_id', '=', accountId).execute()
}
