import type { Migration, Views } from '@penstock/ports/views.ts'
import { type CreateTableBuilder, sql } from 'kysely'
import { isOwingRow } from './owing.ts'

type Column = 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'
type Columns = Readonly<Record<string, Column>>

const types = { text: 'text', int: 'integer', big: 'bigint' } as const

/** The first column is the key, unless others are named. */
async function table(
  db: Views['db'],
  name: string,
  columns: Columns,
  key: readonly string[] = Object.keys(columns).slice(0, 1),
): Promise<void> {
  const begun: CreateTableBuilder<string, string> = db.schema.createTable(name)
  const whole = Object.entries(columns).reduce((builder, [column, kind]) => {
    const optional = kind.endsWith('?')
    const type = types[kind.replace('?', '') as keyof typeof types] // a column's kind without its mark
    return builder.addColumn(column, type, (definition) => (optional ? definition : definition.notNull()))
  }, begun)
  await whole.addPrimaryKeyConstraint(`${name}_key`, [...key]).execute()
}

const index = (db: Views['db'], name: string, columns: readonly string[]): Promise<void> =>
  db.schema
    .createIndex(`${name}_by_${columns.join('_')}`)
    .on(name)
    .columns([...columns])
    .execute()

/** Of the rows whose flag is up alone. */
const indexOfFew = (
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
 * Orders, what is told of them, and their sales stand in tables with an ending of their own for each version. What is changed
 * here changes steps that were released: a further version says beside them what it has more.
 */
const ordersIn =
  (ending: string, more: Columns = {}): Migration =>
  async (db) => {
    const [orders, facts] = [`gateway_orders${ending}`, `gateway_order_facts${ending}`]
    await table(db, orders, {
      id: 'text',
      status: 'text',
      open: 'int',
      ...more,
      source: 'text',
      buyer_account_id: 'text',
      destination: 'text',
      page_hash: 'text',
      created_at: 'big',
      view: 'text',
    })
    await index(db, orders, ['buyer_account_id', 'created_at'])
    await index(db, orders, ['page_hash'])
    await table(db, `gateway_holds${ending}`, { order_id: 'text', invoice_due: 'int', view: 'text' })
    await table(db, `gateway_channels${ending}`, { order_id: 'text', view: 'text' })
    const fact: Columns = {
      event_id: 'text',
      order_id: 'text',
      category: 'text',
      revision: 'int',
      type: 'text',
      at: 'big',
      data: 'text',
    }
    // By the order, whose id begins with its time: ids of events lie all over an index, which a large store pays for.
    await table(db, facts, fact, ['order_id', 'category', 'revision'])
  }

const salesIn =
  (ending: string): Migration =>
  async (db) => {
    const sales = `gateway_sales${ending}`
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
    await table(db, sales, sale, ['order_id', 'account_id'])
    await index(db, sales, ['account_id', 'created_at'])
  }

/** Few orders are open at a time, however many there were: to count them costs as little. */
const openIn =
  (ending: string): Migration =>
  (db) =>
    indexOfFew(db, `gateway_orders${ending}`, 'status', 'open')

/** What waits for a seller is little, however much was sold: agents ask for it all the time. */
const dueIn =
  (ending: string): Migration =>
  async (db) => {
    await indexOfFew(db, `gateway_sales${ending}`, 'account_id', 'action_needed')
    await indexOfFew(db, `gateway_holds${ending}`, 'order_id', 'invoice_due')
  }

/** Few payouts are open at a time. */
const owing: Migration = (db) =>
  db.schema.createIndex('gateway_holds_v2_owing').on('gateway_holds_v2').column('order_id').where(isOwingRow).execute()

const inTurn =
  (...steps: readonly Migration[]): Migration =>
  async (db) => {
    for (const step of steps) await step(db)
  }

const market: Migration = async (db) => {
  await table(db, 'gateway_offers', {
    id: 'text',
    account_id: 'text',
    pubkey: 'text',
    status: 'text',
    min_size_sat: 'big',
    max_size_sat: 'big',
    created_at: 'big',
    view: 'text',
  })
  await index(db, 'gateway_offers', ['status', 'created_at'])
  await index(db, 'gateway_offers', ['pubkey'])
  await table(db, 'gateway_sellers', { pubkey: 'text', live: 'int', view: 'text' })
  await table(db, 'gateway_prices', {
    name: 'text',
    sats_per_usd: 'text',
    usd_per_usd: 'text',
    valid_until: 'big',
    at: 'big',
    withdrawn: 'text?',
  })
}

const accounts: Migration = async (db) => {
  await table(db, 'gateway_accounts', {
    id: 'text',
    email_hash: 'text?',
    email_record: 'text?',
    password_record: 'text?',
    created_at: 'big',
  })
  await index(db, 'gateway_accounts', ['email_hash'])
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
  await table(db, 'gateway_api_keys', key)
  await index(db, 'gateway_api_keys', ['account_id', 'created_at'])
  await table(db, 'gateway_nodes', { account_id: 'text', pubkey: 'text', state: 'text', reason: 'text?', at: 'big' }, [
    'account_id',
    'pubkey',
  ])
}

const callers: Migration = async (db) => {
  await table(db, 'gateway_credentials', {
    hash: 'text',
    kind: 'text',
    account_id: 'text',
    order_id: 'text?',
    api_key_id: 'text?',
    expires_at: 'big?',
    revoked: 'int',
  })
  await index(db, 'gateway_credentials', ['api_key_id'])
  const command: Columns = {
    id: 'text',
    category: 'text',
    aggregate_id: 'text',
    revision: 'int?',
    code: 'text?',
    message: 'text?',
    at: 'big',
  }
  await table(db, 'gateway_commands', command)
  await index(db, 'gateway_commands', ['at'])
  await table(db, 'gateway_order_slots', { order_id: 'text', ip: 'text', destination: 'text', at: 'big' })
  await index(db, 'gateway_order_slots', ['ip'])
  await index(db, 'gateway_order_slots', ['destination'])
  await table(db, 'gateway_slot_locks', { name: 'text', at: 'big' })
}

const lsps1: Migration = (db) =>
  table(db, 'gateway_lsp_sellers', { type: 'text', epoch: 'int', pubkey: 'text', place: 'int', uris: 'text' }, [
    'type',
    'epoch',
    'pubkey',
  ])

/** Logging out everywhere ends the credentials of one account. */
const credentialsByAccount: Migration = (db) => index(db, 'gateway_credentials', ['account_id'])

const sessions: Migration = (db) =>
  table(db, 'gateway_sessions', { hash: 'text', created_at: 'big?', last_used_at: 'big', ip_prefix: 'text?' }, ['hash'])

/** A process of the release before writes no instant: its erasures end with the first that finds no open order. */
const erasedAt: Migration = (db) =>
  db.schema
    .alterTable('gateway_erasures')
    .addColumn('at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()

const toPay: Migration = async (db) => {
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
 * All tables at once: projections and the gateway's own loops share some of them. The tables of a further version are
 * counted by themselves, so that a process of the release before finds its own as it knows them.
 */
export async function migrateGateway(views: Views): Promise<void> {
  // Processes of the release before go on with these while releases are exchanged.
  const first = inTurn(ordersIn(''), salesIn(''))
  await views.migrate('gateway', [first, market, accounts, callers, lsps1, toPay, openIn(''), dueIn('')])
  await views.migrate('gateway sessions', [credentialsByAccount, sessions])
  await views.migrate('gateway erasures', [(db) => table(db, 'gateway_erasures', { account_id: 'text' }), erasedAt])
  const second = [ordersIn('_v2', { to_pay: 'int' }), salesIn('_v2'), inTurn(openIn('_v2'), dueIn('_v2'))]
  await views.migrate('gateway orders 2', second)
  await views.migrate('gateway payouts', [owing])
}
