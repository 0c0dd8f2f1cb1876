import type { Migration, Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'
import { createIndex, createTable, type MigrationHistory } from '../../create-table.ts'

export type EndpointTables = {
  /**
   * `secret_records`: the JSON text of the ids of all secrets, newest first. `filters`: the JSON text of a list of event types;
   * empty for all. `deactivated_at`: null unless the service switched it off.
   */
  gateway_endpoints: {
    id: string
    team_id: string
    environment_id: string
    url_record: string
    secret_records: string
    filters: string
    active: number
    deactivated_at: number | null
    deactivation_reason: string | null
    previous_secret_valid_until: number | null
    deleted: number
    created_at: number
    updated_at: number
  }
}

/** Adds the types of the tables to a connection or transaction without table types. */
export const withEndpointTables = (views: Pick<Views, 'db'>): Kysely<EndpointTables> => views.db.$extendTables<EndpointTables>()
export const withEndpointTablesIn = (trx: Transaction<object>): Transaction<EndpointTables> => trx.$extendTables<EndpointTables>()

const createEndpointTable: Migration = async (db) => {
  await createTable(db, 'gateway_endpoints', {
    id: 'text',
    team_id: 'text',
    environment_id: 'text',
    url_record: 'text',
    secret_records: 'text',
    filters: 'text',
    active: 'int',
    deactivated_at: 'big?',
    deactivation_reason: 'text?',
    previous_secret_valid_until: 'big?',
    deleted: 'int',
    created_at: 'big',
    updated_at: 'big',
  })
  await createIndex(db, 'gateway_endpoints', ['environment_id', 'created_at', 'id'])
}

export const endpointMigrations: readonly MigrationHistory[] = [
  { name: 'gateway webhook endpoints', steps: [createEndpointTable] },
]
