import { accountContract, type AccountFact } from '@penstock/contracts/accounts.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { withAccountTablesIn, type AccountTables } from './tables.ts'

export async function applyToAccounts(trx: Transaction<object>, event: Event): Promise<void> {
  if (event.category !== accountContract.category) return
  const db = withAccountTablesIn(trx)
  const { aggregateId: accountId, at } = event
  const { type, data } = event.fact as AccountFact // the runtime checked the fact against the contract
  switch (type) {
    case 'AccountCreated':
      return insertAccount(db, {
        id: accountId,
        email_hash: data.emailHash,
        email_record: data.emailRecord,
        password_record: data.passwordRecord,
        created_at: at,
      })
    case 'SessionOpened':
      await insertAccount(db, { id: accountId, email_hash: null, email_record: null, password_record: null, created_at: at })
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
      return revokeCredentials(db, accountId, data.apiKeys)
    case 'AccountDeleted':
      return closeAccount(db, accountId, at)
    case 'ApiKeyCreated':
      return addApiKey(db, accountId, data, at)
    case 'ApiKeyRevoked':
      await db.updateTable('gateway_api_keys').set({ revoked: 1 }).where('id', '=', data.keyId).execute()
      await db.updateTable('gateway_credentials').set({ revoked: 1 }).where('api_key_id', '=', data.keyId).execute()
      return
    case 'NodeProofGiven':
      return upsertNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'proven', reason: null, at })
    case 'NodeConnected':
      return upsertNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'connected', reason: null, at })
    case 'NodeRefused':
      return upsertNode(db, { account_id: accountId, pubkey: data.pubkey, state: 'refused', reason: data.reason, at })
    default:
      return // facts about challenges and operators change no row here
  }
}

type CreatedApiKey = Extract<AccountFact, { readonly type: 'ApiKeyCreated' }>['data']

async function addApiKey(db: Transaction<AccountTables>, accountId: string, created: CreatedApiKey, at: number): Promise<void> {
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

async function revokeCredentials(db: Transaction<AccountTables>, accountId: string, apiKeys: boolean): Promise<void> {
  await db
    .updateTable('gateway_credentials')
    .set({ revoked: 1 })
    .where('account_id', '=', accountId)
    .where('kind', 'in', apiKeys ? ['token', 'api'] : ['token'])
    .execute()
  if (apiKeys) await db.updateTable('gateway_api_keys').set({ revoked: 1 }).where('account_id', '=', accountId).execute()
}

/** Revokes all credentials of the account, and schedules the deletion of its records by the gateway's prune job. */
async function closeAccount(db: Transaction<AccountTables>, accountId: string, at: number): Promise<void> {
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

async function insertAccount(db: Transaction<AccountTables>, row: AccountTables['gateway_accounts']): Promise<void> {
  await db
    .insertInto('gateway_accounts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

type CredentialRow = Pick<AccountTables['gateway_credentials'], 'hash' | 'kind' | 'account_id'> &
  Partial<AccountTables['gateway_credentials']>

async function addCredential(db: Transaction<AccountTables>, row: CredentialRow): Promise<void> {
  await db
    .insertInto('gateway_credentials')
    .values({ order_id: null, api_key_id: null, expires_at: null, revoked: 0, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function upsertNode(db: Transaction<AccountTables>, row: AccountTables['gateway_nodes']): Promise<void> {
  const { state, reason, at } = row
  await db
    .insertInto('gateway_nodes')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'pubkey']).doUpdateSet({ state, reason, at }))
    .execute()
}
