import { type AttemptEnd, SHARD_COUNT } from '@penstock/ports/deliveries.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type Kysely, sql } from 'kysely'

export type WebhookTables = {
  webhook_feed: { name: string; position: string }
  webhook_endpoints: {
    id: string
    environment_id: string
    shard: number
    url_record: string
    /** JSON, as in the settings of an endpoint. */
    secrets: string
    filters: string
    active: number
    failing_since: number | null
  }
  webhook_events: {
    id: string
    envelope_id: string
    environment_id: string
    wallet_id: string | null
    transaction_id: string | null
    sequence: number
    type: string
    /** Null after its deletion. */
    body: string | null
    created_at: number
  }
  /** An attempt keeps its row from its planning to its end. An attempt that is cancelled before it begins loses its row. */
  webhook_attempts: {
    id: string
    event_id: string
    endpoint_id: string
    number: number
    /** The attempts that may follow this one in its delivery. */
    attempts_left: number
    shard: number
    /** The transaction whose earlier events come first; null for all but the first attempt. */
    transaction_id: string | null
    sequence: number
    event_created_at: number
    created_at: number
    due_at: number
    begun_at: number | null
    ended_at: number | null
    /** Null until the end, as the columns that follow. */
    status: AttemptEnd['status'] | null
    http_status: number | null
    error: string | null
  }
}

export type WebhookDb = Kysely<WebhookTables>
export type AttemptRow = WebhookTables['webhook_attempts']

/** The literal lets both databases use the index of first attempts. */
export const isFirst = sql<boolean>`number = 1`

/** Derives the shard of an endpoint from its id, by the hash FNV-1a. */
export function shardOf(endpointId: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < endpointId.length; index++) hash = Math.imul(hash ^ endpointId.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % SHARD_COUNT
}

/**
 * Repeats the last id up to a power of two, so that lists of any length make few different statements. A database prepares each
 * statement anew, which takes longer than to run it.
 */
export const padIds = (ids: readonly string[], length = 2 ** Math.ceil(Math.log2(ids.length))): readonly string[] => [
  ...ids,
  ...Array.from({ length: length - ids.length }, () => ids.at(-1) ?? ''),
]

export const migrateWebhookTables = (views: Views): Promise<void> =>
  views.migrate('webhooks', [
    async (db) => {
      await createEndpoints(db)
      await createEvents(db)
      await createAttempts(db)
    },
  ])

async function createEndpoints(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('webhook_feed')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('position', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('webhook_endpoints')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('environment_id', 'text', (column) => column.notNull())
    .addColumn('shard', 'integer', (column) => column.notNull())
    .addColumn('url_record', 'text', (column) => column.notNull())
    .addColumn('secrets', 'text', (column) => column.notNull())
    .addColumn('filters', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('failing_since', 'bigint')
    .execute()
  await db.schema.createIndex('webhook_endpoints_of_environment').on('webhook_endpoints').column('environment_id').execute()
}

async function createEvents(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('webhook_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('envelope_id', 'text', (column) => column.notNull())
    .addColumn('environment_id', 'text', (column) => column.notNull())
    .addColumn('wallet_id', 'text')
    .addColumn('transaction_id', 'text')
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('body', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  const createIndex = (name: string, columns: readonly string[]) =>
    db.schema
      .createIndex(`webhook_events_${name}`)
      .on('webhook_events')
      .columns([...columns])
  await createIndex('by_envelope', ['envelope_id']).execute()
  await createIndex('of_environment', ['environment_id', 'created_at', 'id']).execute()
  // A list of a rare type must not read all events.
  await createIndex('of_type', ['environment_id', 'type', 'created_at', 'id']).execute()
  await createIndex('of_wallet', ['wallet_id', 'created_at', 'id']).execute()
  await createIndex('of_transaction', ['transaction_id', 'sequence']).execute()
  await createIndex('with_body', ['created_at']).where(sql.ref('body'), 'is not', null).execute()
  await createIndex('without_body', ['created_at']).where(sql.ref('body'), 'is', null).execute()
}

async function createAttempts(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('webhook_attempts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('endpoint_id', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('attempts_left', 'integer', (column) => column.notNull())
    .addColumn('shard', 'integer', (column) => column.notNull())
    .addColumn('transaction_id', 'text')
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('event_created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('begun_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('status', 'text')
    .addColumn('http_status', 'integer')
    .addColumn('error', 'text')
    .execute()
  const createIndex = (name: string, columns: readonly string[]) =>
    db.schema
      .createIndex(`webhook_attempts_${name}`)
      .on('webhook_attempts')
      .columns([...columns])
  await createIndex('of_event', ['event_id', 'endpoint_id']).execute()
  await createIndex('first', ['endpoint_id', 'event_created_at', 'event_id']).where(isFirst).execute()
  // The beginning of an attempt changes no column of this index, so that it writes fewer pages.
  await createIndex('open', ['endpoint_id', 'due_at']).where(sql.ref('ended_at'), 'is', null).execute()
  await createIndex('in_progress', ['shard'])
    .where(sql.ref('begun_at'), 'is not', null)
    .where(sql.ref('ended_at'), 'is', null)
    .execute()
}
