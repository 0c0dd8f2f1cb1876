import type { Migration, Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'
import { createIndex, createTable, type MigrationHistory } from '../../create-table.ts'

export type AccountTables = {
  gateway_accounts: {
    id: string
    email_hash: string | null
    email_record: string | null
    password_record: string | null
    created_at: number
  }
  gateway_credentials: {
    hash: string
    kind: string
    account_id: string
    order_id: string | null
    api_key_id: string | null
    expires_at: number | null
    revoked: number
  }
  gateway_api_keys: {
    id: string
    account_id: string
    prefix: string
    suffix: string
    name_record: string | null
    created_at: number
    expires_at: number | null
    revoked: number
  }
  gateway_nodes: { account_id: string; pubkey: string; state: string; reason: string | null; at: number }
  /** Network and time of each token's last use; not folded from facts. `created_at`: null if the log-in was not recorded. */
  gateway_sessions: { hash: string; created_at: number | null; last_used_at: number; ip_prefix: string | null }
  /** Deleted accounts whose texts the prune job still deletes at each run. `at`: the time of the deletion. */
  gateway_erasures: { account_id: string; at: number }
}

/** Adds the types of the tables to a connection or transaction without table types. */
export const withAccountTables = (views: Pick<Views, 'db'>): Kysely<AccountTables> => views.db.$extendTables<AccountTables>()
export const withAccountTablesIn = (trx: Transaction<object>): Transaction<AccountTables> => trx.$extendTables<AccountTables>()

const createAccountTables: Migration = async (db) => {
  await createTable(db, 'gateway_accounts', {
    id: 'text',
    email_hash: 'text?',
    email_record: 'text?',
    password_record: 'text?',
    created_at: 'big',
  })
  await createIndex(db, 'gateway_accounts', ['email_hash'])
  await createTable(db, 'gateway_credentials', {
    hash: 'text',
    kind: 'text',
    account_id: 'text',
    order_id: 'text?',
    api_key_id: 'text?',
    expires_at: 'big?',
    revoked: 'int',
  })
  await createIndex(db, 'gateway_credentials', ['api_key_id'])
  // Supports logging out everywhere, which revokes the credentials of one account.
  await createIndex(db, 'gateway_credentials', ['account_id'])
  await createTable(db, 'gateway_api_keys', {
    id: 'text',
    account_id: 'text',
    prefix: 'text',
    suffix: 'text',
    name_record: 'text?',
    created_at: 'big',
    expires_at: 'big?',
    revoked: 'int',
  })
  await createIndex(db, 'gateway_api_keys', ['account_id', 'created_at'])
  await createTable(db, 'gateway_nodes', { account_id: 'text', pubkey: 'text', state: 'text', reason: 'text?', at: 'big' }, [
    'account_id',
    'pubkey',
  ])
  await createTable(db, 'gateway_sessions', { hash: 'text', created_at: 'big?', last_used_at: 'big', ip_prefix: 'text?' })
  await createTable(db, 'gateway_erasures', { account_id: 'text', at: 'big' })
}

export const accountMigrations: readonly MigrationHistory[] = [{ name: 'gateway accounts', steps: [createAccountTables] }]
