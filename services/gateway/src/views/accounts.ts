import { account, type AccountFact } from '@penstock/contracts/accounts.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { tablesIn, type Tables } from './tables.ts'

export async function applyToAccounts(trx: Transaction<object>, event: Event): Promise<void> {
  if (event.category !== account.category) return
  const db = tablesIn(trx)
  const { aggregateId: accountId, at } = event
  const { type, data } = event.fact as AccountFact // the runtime checked it against the contract when it was read
  switch (type) {
    case 'AccountCreated':
      return put(db, {
        id: accountId,
        email_hash: data.emailHash,
        email_record: data.emailRecord,
        password_record: data.passwordRecord,
        created_at: at,
      })
    case 'SessionOpened':
      await put(db, { id: accountId, email_hash: null, email_record: null, password_record: null, created_at: at })
      return addCredential(db, { hash: data.keyHash, kind: 'session', account_id: accountId })
    case 'OrderKeyIssued':
      return addCredential(db, { hash: data.keyHash, kind: 'order', account_id: accountId, order_id: data.orderId })
    case 'LoginRecorded':
      return addCredential(db, { hash: data.tokenHash, kind: 'token', account_id: accountId, expires_at: data.expiresAt })
    case 'LoggedOut':
      await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('hash', '=', data.tokenHash).execute()
      return
    case 'PasswordChanged':
      await db.updateTable('gateway_accounts').set({ password_record: data.passwordRecord }).where('id', '=', accountId).execute()
      return
    case 'LoggedOutEverywhere':
      return endCredentials(db, accountId, data.apiKeys)
    case 'AccountDeleted':
      return forget(db, accountId, at)
    case 'ApiKeyCreated':
      return addApiKey(db, accountId, data, at)
    case 'ApiKeyRevoked':
      await db.updateTable('gateway_api_keys').set({ revoked: 1 }).where('id', '=', data.keyId).execute()
      await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('api_key_id', '=', data.keyId).execute()
      return
    case 'NodeProofGiven':
      return putNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'proven', reason: null, at })
    case 'NodeConnected':
      return putNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'connected', reason: null, at })
    case 'NodeRefused':
      return putNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'refused', reason: data.reason, at })
    default:
      return // challenges and operators concern nobody who reads here
  }
}

type CreatedKey = Extract<AccountFact, { readonly type: 'ApiKeyCreated' }>['data']

async function addApiKey(db: Transaction<Tables>, accountId: string, created: CreatedKey, at: number): Promise<void> {
  const { keyId, keyHash, prefix, suffix, nameRecord, expiresAt } = created
  const key = {
    id: keyId,
    account_id: accountId,
    prefix,
    suffix,
    name_record: nameRecord,
    created_at: at,
    expires_at: expiresAt,
    revoked: 0,
  }
  await db
    .insertInto('gateway_api_keys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await addCredential(db, { hash: keyHash, kind: 'api', account_id: accountId, api_key_id: keyId, expires_at: expiresAt })
}

async function endCredentials(db: Transaction<Tables>, accountId: string, apiKeys: boolean): Promise<void> {
  await db
    .updateTable('gateway_credentials')
    .set({ revoked: 1 })
    .where('account_id', '=', accountId)
    .where('kind', 'in', apiKeys ? ['token', 'api'] : ['token'])
    .execute()
  if (apiKeys) await db.updateTable('gateway_api_keys').set({ revoked: 1 }).where('account_id', '=', accountId).execute()
}

/** Nothing opens the account any more, and its records are to be deleted: the gateway's own loop does that, too. */
async function forget(db: Transaction<Tables>, accountId: string, at: number): Promise<void> {
  await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('account_id', '=', accountId).execute()
  await db.updateTable('gateway_api_keys').set({ revoked: 1 }).where('account_id', '=', accountId).execute()
  await db.updateTable('gateway_accounts').set({ email_hash: null }).where('id', '=', accountId).execute()
  await db.deleteFrom('gateway_nodes').where('account_id', '=', accountId).execute()
  await db
    .insertInto('gateway_erasures')
    .values({ account_id: accountId, at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function put(db: Transaction<Tables>, row: Tables['gateway_accounts']): Promise<void> {
  await db
    .insertInto('gateway_accounts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

type Credential = Pick<Tables['gateway_credentials'], 'hash' | 'kind' | 'account_id'> & Partial<Tables['gateway_credentials']>

async function addCredential(db: Transaction<Tables>, row: Credential): Promise<void> {
  await db
    .insertInto('gateway_credentials')
    .values({ order_id: null, api_key_id: null, expires_at: null, revoked: 0, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function putNode(db: Transaction<Tables>, row: Tables['gateway_nodes']): Promise<void> {
  const { state, reason, at } = row
  await db
    .insertInto('gateway_nodes')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'pubkey']).doUpdateSet({ state, reason, at }))
    .execute()
}
