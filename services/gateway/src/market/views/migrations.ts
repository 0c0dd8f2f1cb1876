import type { Migration, Views } from '@penstock/ports/views.ts'
import { type CreateTableBuilder, sql } from 'kysely'
import { isPayoutDueRow } from './payout-due-row.ts'

type Column = 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'
type Columns = Readonly<Record<string, Column>>

const sqlTypes = { text: 'text', int: 'integer', big: 'bigint' } as const

/** Creates a table. The first column is the key, unless `key` lists others. */
async function createTable(
  db: Views['db'],
  name: string,
  columns: Columns,
  key: readonly string[] = Object.keys(columns).slice(0, 1),
): Promise<void> {
  const emptyTable: CreateTableBuilder<string, string> = db.schema.createTable(name)
  const fullTable = Object.entries(columns).reduce((builder, [column, kind]) => {
    const isOptional = kind.endsWith('?')
    const type = sqlTypes[kind.replace('?', '') as keyof typeof sqlTypes] // a column's kind without its question mark
    return builder.addColumn(column, type, (definition) => (isOptional ? definition : definition.notNull()))
  }, emptyTable)
  await fullTable.addPrimaryKeyConstraint(`${name}_key`, [...key]).execute()
}

const createIndex = (db: Views['db'], name: string, columns: readonly string[]): Promise<void> =>
  db.schema
    .createIndex(`${name}_by_${columns.join('_')}`)
    .on(name)
    .columns([...columns])
    .execute()

/** Indexes only the rows whose flag is 1. */
const createFlagIndex = (
  db: Views['db'],
  name: string,
  column: string,
  flag: 'open' | 'action_needed' | 'invoice_due',
): Promise<void> =>
  db.schema
    .createIndex(`${name}_${flag === 'open' ? 'open' : 'due'}`)
    .on(name)
    .column(column)
    .where(sql.ref(flag), '=', 1)
    .execute()

/**
 * Creates the order tables of one version, with its suffix. A change of this function would alter released migrations, so a
 * new version passes additional columns instead.
 */
const createOrderTables =
  (suffix: string, extraColumns: Columns = {}): Migration =>
  async (db) => {
    const [orders, facts] = [`gateway_orders${suffix}`, `gateway_order_facts${suffix}`]
    await createTable(db, orders, {
      id: 'text',
      status: 'text',
      open: 'int',
      ...extraColumns,
      source: 'text',
      buyer_account_id: 'text',
      destination: 'text',
      page_hash: 'text',
      created_at: 'big',
      view: 'text',
    })
    await createIndex(db, orders, ['buyer_account_id', 'created_at'])
    await createIndex(db, orders, ['page_hash'])
    await createTable(db, `gateway_holds${suffix}`, { order_id: 'text', invoice_due: 'int', view: 'text' })
    await createTable(db, `gateway_channels${suffix}`, { order_id: 'text', view: 'text' })
    const fact: Columns = {
      event_id: 'text',
      order_id: 'text',
      category: 'text',
      revision: 'int',
      type: 'text',
      at: 'big',
      data: 'text',
    }
    // The key begins with the order id, which begins with a timestamp. Event ids would spread the inserts over the whole index,
    // which is slow for a large store.
    await createTable(db, facts, fact, ['order_id', 'category', 'revision'])
  }

const createSalesTable =
  (suffix: string): Migration =>
  async (db) => {
    const sales = `gateway_sales${suffix}`
    const sale: Columns = {
      order_id: 'text',
      account_id: 'text',
      seller_pubkey: 'text',
      buyer_pubkey: 'text',
      attempt: 'int',
      current: 'int',
      action_needed: 'int',
      created_at: 'big',
    }
    await createTable(db, sales, sale, ['order_id', 'account_id'])
    await createIndex(db, sales, ['account_id', 'created_at'])
  }

/** Few orders are open at a time, so this index makes counting them cheap. */
const createOpenIndex =
  (suffix: string): Migration =>
  (db) =>
    createFlagIndex(db, `gateway_orders${suffix}`, 'status', 'open')

/** Agents often query the few sales that wait for their seller, so these indexes contain only those sales. */
const createDueIndexes =
  (suffix: string): Migration =>
  async (db) => {
    await createFlagIndex(db, `gateway_sales${suffix}`, 'account_id', 'action_needed')
    await createFlagIndex(db, `gateway_holds${suffix}`, 'order_id', 'invoice_due')
  }

/** Indexes only rows with an open payout, of which few exist at a time. */
const createPayoutDueIndex: Migration = (db) =>
  db.schema.createIndex('gateway_holds_v2_owing').on('gateway_holds_v2').column('order_id').where(isPayoutDueRow).execute()

const runInSequence =
  (...steps: readonly Migration[]): Migration =>
  async (db) => {
    for (const step of steps) await step(db)
  }

/** Creates the tables of offers, sellers and the price of one version, with its suffix. */
const createMarketTables =
  (suffix: string): Migration =>
  async (db) => {
    const offers = `gateway_offers${suffix}`
    await createTable(db, offers, {
      id: 'text',
      account_id: 'text',
      pubkey: 'text',
      status: 'text',
      min_size_sat: 'big',
      max_size_sat: 'big',
      created_at: 'big',
      view: 'text',
    })
    await createIndex(db, offers, ['status', 'created_at'])
    await createIndex(db, offers, ['pubkey'])
    await createTable(db, `gateway_sellers${suffix}`, { pubkey: 'text', live: 'int', view: 'text' })
    await createTable(db, `gateway_prices${suffix}`, {
      name: 'text',
      sats_per_usd: 'text',
      usd_per_usd: 'text',
      valid_until: 'big',
      at: 'big',
      withdrawn: 'text?',
    })
  }

/** Supports queries for an account's own offers, and for an offer's orders. */
const createOwnOfferTables =
  (suffix: string): Migration =>
  async (db) => {
    await createIndex(db, `gateway_offers${suffix}`, ['account_id', 'created_at'])
    const orders = `gateway_offer_orders${suffix}`
    await createTable(db, orders, { offer_id: 'text', order_id: 'text' }, ['offer_id', 'order_id'])
  }

const createAccountTables: Migration = async (db) => {
  await createTable(db, 'gateway_accounts', {
    id: 'text',
    email_hash: 'text?',
    email_record: 'text?',
    password_record: 'text?',
    created_at: 'big',
  })
  await createIndex(db, 'gateway_accounts', ['email_hash'])
  const key: Columns = {
    id: 'text',
    account_id: 'text',
    prefix: 'text',
    suffix: 'text',
    name_record: 'text?',
    created_at: 'big',
    expires_at: 'big?',
    revoked: 'int',
  }
  await createTable(db, 'gateway_api_keys', key)
  await createIndex(db, 'gateway_api_keys', ['account_id', 'created_at'])
  await createTable(db, 'gateway_nodes', { account_id: 'text', pubkey: 'text', state: 'text', reason: 'text?', at: 'big' }, [
    'account_id',
    'pubkey',
  ])
}

const createCallerTables: Migration = async (db) => {
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
  const command: Columns = {
    id: 'text',
    category: 'text',
    aggregate_id: 'text',
    revision: 'int?',
    code: 'text?',
    message: 'text?',
    at: 'big',
  }
  await createTable(db, 'gateway_commands', command)
  await createIndex(db, 'gateway_commands', ['at'])
  await createTable(db, 'gateway_order_slots', { order_id: 'text', ip: 'text', destination: 'text', at: 'big' })
  await createIndex(db, 'gateway_order_slots', ['ip'])
  await createIndex(db, 'gateway_order_slots', ['destination'])
  await createTable(db, 'gateway_slot_locks', { name: 'text', at: 'big' })
}

const createLsps1Table: Migration = (db) =>
  createTable(db, 'gateway_lsp_sellers', { type: 'text', epoch: 'int', pubkey: 'text', place: 'int', uris: 'text' }, [
    'type',
    'epoch',
    'pubkey',
  ])

/** Supports logging out everywhere, which revokes the credentials of one account. */
const createCredentialIndex: Migration = (db) => createIndex(db, 'gateway_credentials', ['account_id'])

const createSessionTable: Migration = (db) =>
  createTable(db, 'gateway_sessions', { hash: 'text', created_at: 'big?', last_used_at: 'big', ip_prefix: 'text?' }, ['hash'])

/** A process of the previous release writes no time. The default 0 ends an erasure at the first run without an open order. */
const addErasedAt: Migration = (db) =>
  db.schema
    .alterTable('gateway_erasures')
    .addColumn('at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()

const addToPay: Migration = async (db) => {
  await db.schema
    .alterTable('gateway_orders')
    .addColumn('to_pay', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db
    .$extendTables<{ gateway_orders: { status: string; to_pay: number } }>()
    .updateTable('gateway_orders')
    .set({ to_pay: 1 })
    .where('status', '=', 'WAITING_FOR_BUYER_PAYMENT')
    .execute()
}

/**
 * Creates all tables at once, because the projections and jobs of the gateway share some of them. Tables of a new version have
 * their own migration history, so that a process of the previous release finds its tables unchanged.
 */
export async function migrateGateway(views: Views): Promise<void> {
  // Processes of the previous release use these tables during a rolling upgrade.
  const first = runInSequence(createOrderTables(''), createSalesTable(''))
  await views.migrate('gateway', [
    first,
    createMarketTables(''),
    createAccountTables,
    createCallerTables,
    createLsps1Table,
    addToPay,
    createOpenIndex(''),
    createDueIndexes(''),
  ])
  await views.migrate('gateway sessions', [createCredentialIndex, createSessionTable])
  await views.migrate('gateway erasures', [(db) => createTable(db, 'gateway_erasures', { account_id: 'text' }), addErasedAt])
  const second = [
    createOrderTables('_v2', { to_pay: 'int' }),
    createSalesTable('_v2'),
    runInSequence(createOpenIndex('_v2'), createDueIndexes('_v2')),
  ]
  await views.migrate('gateway orders 2', second)
  await views.migrate('gateway market 2', [createMarketTables('_v2'), createOwnOfferTables('_v2')])
  await views.migrate('gateway payouts', [createPayoutDueIndex])
}
