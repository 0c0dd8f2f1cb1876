import type { Views } from '@penstock/ports/views.ts'
import { type AccountTables, withAccountTables } from '../views/tables.ts'
import type { Page, ListPage } from '../../list-page.ts'

type Db = Pick<Views, 'db'>
export type AccountRow = AccountTables['gateway_accounts']
export type ApiKeyRow = AccountTables['gateway_api_keys']
export type AccountNodeRow = AccountTables['gateway_nodes']

export const findAccount = (views: Db, id: string): Promise<AccountRow | undefined> =>
  withAccountTables(views).selectFrom('gateway_accounts').selectAll().where('id', '=', id).executeTakeFirst()

export const findAccountByEmail = (views: Db, emailHash: string): Promise<AccountRow | undefined> =>
  withAccountTables(views)
    .selectFrom('gateway_accounts')
    .selectAll()
    .where('email_hash', '=', emailHash)
    // A deleted account may have had the address before, and the projection may not have cleared its row yet.
    .orderBy('created_at', 'desc')
    .executeTakeFirst()

/** Whether the account was deleted recently, for requests that passed authentication before the deletion. */
export async function isRecentlyDeleted(views: Db, accountId: string): Promise<boolean> {
  const row = await withAccountTables(views)
    .selectFrom('gateway_erasures')
    .select('account_id')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row !== undefined
}

/** Finds the account that is connected to this node; there is at most one. */
export const findNodeOwner = (views: Db, pubkey: string): Promise<AccountNodeRow | undefined> =>
  withAccountTables(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('pubkey', '=', pubkey)
    .where('state', '=', 'connected')
    .executeTakeFirst()

/** Finds the state of an account's proof of a node. */
export const findAccountNode = (views: Db, accountId: string, pubkey: string): Promise<AccountNodeRow | undefined> =>
  withAccountTables(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('pubkey', '=', pubkey)
    .executeTakeFirst()

export const listConnectedNodes = (views: Db, accountId: string): Promise<readonly AccountNodeRow[]> =>
  withAccountTables(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('state', '=', 'connected')
    .orderBy('at')
    .execute()

export const findApiKey = (views: Db, accountId: string, id: string): Promise<ApiKeyRow | undefined> =>
  withAccountTables(views)
    .selectFrom('gateway_api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()

/** Lists an account's API keys, newest first, also revoked keys. */
export async function listApiKeyRows(views: Db, accountId: string, { limit, offset }: Page): Promise<ListPage<ApiKeyRow>> {
  const accountKeys = withAccountTables(views).selectFrom('gateway_api_keys').where('account_id', '=', accountId)
  const { total } = await accountKeys.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow()
  const list = await accountKeys
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return { total: Number(total), list }
}

/** Whether the read models contain a credential; a log-in waits for this. */
export async function hasCredential(views: Db, hash: string): Promise<boolean> {
  const row = await withAccountTables(views)
    .selectFrom('gateway_credentials')
    .select('hash')
    .where('hash', '=', hash)
    .executeTakeFirst()
  return row !== undefined
}

/** Lists the newest hundred valid tokens of the account, with their last use. */
export const listOpenTokens = (views: Db, accountId: string, now: number) =>
  withAccountTables(views)
    .selectFrom('gateway_credentials as c')
    .leftJoin('gateway_sessions as s', 's.hash', 'c.hash')
    .select(['c.hash', 's.created_at', 's.last_used_at', 's.ip_prefix'])
    .where('c.account_id', '=', accountId)
    .where('c.kind', '=', 'token')
    .where('c.revoked', '=', 0)
    .where('c.expires_at', '>', now)
    .orderBy('c.expires_at', 'desc')
    .orderBy('c.hash')
    .limit(100)
    .execute()
