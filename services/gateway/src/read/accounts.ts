import type { Views } from '@penstock/ports/views.ts'
import type { Page } from '../input.ts'
import { type Tables, tablesOf } from '../views/tables.ts'
import type { Listed } from './orders.ts'

type Db = Pick<Views, 'db'>
export type AccountRow = Tables['gateway_accounts']
export type ApiKeyRow = Tables['gateway_api_keys']
export type NodeRow = Tables['gateway_nodes']

export const accountById = (views: Db, id: string): Promise<AccountRow | undefined> =>
  tablesOf(views).selectFrom('gateway_accounts').selectAll().where('id', '=', id).executeTakeFirst()

export const accountByEmail = (views: Db, emailHash: string): Promise<AccountRow | undefined> =>
  tablesOf(views)
    .selectFrom('gateway_accounts')
    .selectAll()
    .where('email_hash', '=', emailHash)
    // A deleted account may have had the address before, and its row may lag behind.
    .orderBy('created_at', 'desc')
    .executeTakeFirst()

/** Whether the account was deleted a short time ago: for callers that had shown its key before. */
export async function isDeletedLately(views: Db, accountId: string): Promise<boolean> {
  const row = await tablesOf(views)
    .selectFrom('gateway_erasures')
    .select('account_id')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row !== undefined
}

/** The account that proved this node, of which there is at most one. */
export const ownerOfNode = (views: Db, pubkey: string): Promise<NodeRow | undefined> =>
  tablesOf(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('pubkey', '=', pubkey)
    .where('state', '=', 'connected')
    .executeTakeFirst()

/** How an account's proof of a node stands. */
export const nodeOf = (views: Db, accountId: string, pubkey: string): Promise<NodeRow | undefined> =>
  tablesOf(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('pubkey', '=', pubkey)
    .executeTakeFirst()

export const nodesOf = (views: Db, accountId: string): Promise<readonly NodeRow[]> =>
  tablesOf(views)
    .selectFrom('gateway_nodes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('state', '=', 'connected')
    .orderBy('at')
    .execute()

export const apiKeyById = (views: Db, accountId: string, id: string): Promise<ApiKeyRow | undefined> =>
  tablesOf(views)
    .selectFrom('gateway_api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()

/** Newest first, revoked ones too. */
export async function apiKeysOf(views: Db, accountId: string, { limit, offset }: Page): Promise<Listed<ApiKeyRow>> {
  const mine = tablesOf(views).selectFrom('gateway_api_keys').where('account_id', '=', accountId)
  const { total } = await mine.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow()
  const list = await mine.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset).execute()
  return { total: Number(total), list }
}

/** Whether a credential opens something by now: what a log-in waits for. */
export async function credentialExists(views: Db, hash: string): Promise<boolean> {
  const row = await tablesOf(views).selectFrom('gateway_credentials').select('hash').where('hash', '=', hash).executeTakeFirst()
  return row !== undefined
}

/** Tokens that open the account now, with what is known of their use; the newest hundred. */
export const openTokensOf = (views: Db, accountId: string, now: number) =>
  tablesOf(views)
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

/** The texts of a record that a person may have deleted. @returns undefined where they are gone */
export async function recordText(
  records: { get(id: string): Promise<{ readonly json: string } | undefined> },
  id: string | null,
  field: string,
): Promise<string | undefined> {
  const record = id === null ? undefined : await records.get(id)
  const values = record && (JSON.parse(record.json) as Record<string, unknown>) // records are JSON objects of the gateway's own making
  const value = values?.[field]
  return typeof value === 'string' ? value : undefined
}
