import type { Migration, Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'
import { createIndex, createTable, type MigrationHistory } from '../../create-table.ts'

export type ServiceKeyTables = {
  /** `permissions`: the JSON text of a list of permissions. */
  gateway_service_keys: {
    hash: string
    id: string
    team_id: string
    environment_id: string
    wallet_id: string | null
    node_id: string | null
    prefix: string
    suffix: string
    name_record: string
    permissions: string
    created_at: number
    expires_at: number | null
    revoked: number
  }
  /** The time of each key's last use; not folded from facts. */
  gateway_service_key_uses: { key_id: string; last_used_at: number }
}

/** Adds the types of the tables to a connection or transaction without table types. */
export const withServiceKeyTables = (views: Pick<Views, 'db'>): Kysely<ServiceKeyTables> =>
  views.db.$extendTables<ServiceKeyTables>()
export const withServiceKeyTablesIn = (trx: Transaction<object>): Transaction<ServiceKeyTables> =>
  trx.$extendTables<ServiceKeyTables>()

const createServiceKeyTables: Migration = async (db) => {
  // The hash is the key of the table, so that each request finds its row by one look-up.
  await createTable(db, 'gateway_service_keys', {
    hash: 'text',
    id: 'text',
    team_id: 'text',
    environment_id: 'text',
    wallet_id: 'text?',
    node_id: 'text?',
    prefix: 'text',
    suffix: 'text',
    name_record: 'text',
    permissions: 'text',
    created_at: 'big',
    expires_at: 'big?',
    revoked: 'int',
  })
  await createIndex(db, 'gateway_service_keys', ['id'])
  await createIndex(db, 'gateway_service_keys', ['environment_id', 'created_at'])
  await createTable(db, 'gateway_service_key_uses', { key_id: 'text', last_used_at: 'big' })
}

export const serviceKeyMigrations: readonly MigrationHistory[] = [
  { name: 'gateway service keys', steps: [createServiceKeyTables] },
]
