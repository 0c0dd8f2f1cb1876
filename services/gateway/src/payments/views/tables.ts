import type { Migration, Views } from '@penstock/ports/views.ts'
import { type Kysely, sql, type Transaction } from 'kysely'
import { createIndex, createTable, type MigrationHistory } from '../../create-table.ts'

/** The number of a wallet's transactions that callers see, by direction and status. */
export type TransactionCounts = {
  receive_pending: number
  receive_completed: number
  receive_failed: number
  receive_expired: number
  send_pending: number
  send_completed: number
  send_failed: number
  send_expired: number
}

/**
 * The rows of deleted environments and wallets stay, so `deleted` hides them. The rows of their transactions stay too. Only
 * their texts are erased.
 */
export type PaymentsTables = {
  gateway_environments: {
    id: string
    team_id: string
    /** The service API key that created the environment; null if a dashboard user did. */
    key_id: string | null
    type: string
    name_record: string
    deleted: number
    created_at: number
  }
  gateway_wallets: {
    id: string
    environment_id: string
    team_id: string
    asset_id: string
    /** Null for a wallet that has the symbol of its asset as its name. */
    name_record: string | null
    deleted: number
    created_at: number
  }
  /**
   * The sums and counts of a wallet's transactions. The amounts are in base units of its asset. The row is separate from
   * the wallet's, because a transaction may be projected before its wallet.
   */
  gateway_wallet_totals: { wallet_id: string; received: string; sent: string; fees: string } & TransactionCounts
  /** A `view` is the JSON text of a state folded from facts; queries filter by the other columns. */
  gateway_transactions: {
    id: string
    wallet_id: string
    environment_id: string
    team_id: string
    direction: string
    /** The status that callers see; null for a send that another send stands for. */
    status: string | null
    payment_hash: string | null
    created_at: number
    /** The time by which the transaction ends; null until its expiry is known. */
    ends_at: number | null
    view: string
  }
  /** The facts of a transaction. `reason`: the reason of a failure. */
  gateway_transaction_facts: {
    id: string
    transaction_id: string
    revision: number
    type: string
    reason: string | null
    at: number
  }
}

export type ErasureTables = {
  /**
   * Deleted environments and wallets whose texts the prune job still erases, and records that an endpoint no longer uses; not
   * folded from facts.
   */
  gateway_payments_erasures: {
    id: string
    kind: 'environment' | 'wallet' | 'record'
    /** The time of the deletion. */
    at: number
    /** The time of the next pass. */
    due_at: number
  }
}

/** Adds the types of the tables to a connection or transaction without table types. */
export const withPaymentsTables = (views: Pick<Views, 'db'>): Kysely<PaymentsTables> => views.db.$extendTables<PaymentsTables>()
export const withPaymentsTablesIn = (trx: Transaction<object>): Transaction<PaymentsTables & ErasureTables> =>
  trx.$extendTables<PaymentsTables & ErasureTables>()

/** Selects open transactions. The index and its queries must use exactly this expression. */
export const isOpenTransactionRow = sql<boolean>`${sql.ref('status')} = 'PENDING'`

const createWalletTables: Migration = async (db) => {
  await createTable(db, 'gateway_environments', {
    id: 'text',
    team_id: 'text',
    key_id: 'text?',
    type: 'text',
    name_record: 'text',
    deleted: 'int',
    created_at: 'big',
  })
  await createIndex(db, 'gateway_environments', ['team_id', 'created_at', 'id'])
  await createTable(db, 'gateway_wallets', {
    id: 'text',
    environment_id: 'text',
    team_id: 'text',
    asset_id: 'text',
    name_record: 'text?',
    deleted: 'int',
    created_at: 'big',
  })
  await createIndex(db, 'gateway_wallets', ['environment_id', 'created_at', 'id'])
  await createIndex(db, 'gateway_wallets', ['team_id', 'created_at', 'id'])
  await createTable(db, 'gateway_wallet_totals', {
    wallet_id: 'text',
    received: 'text',
    sent: 'text',
    fees: 'text',
    receive_pending: 'int',
    receive_completed: 'int',
    receive_failed: 'int',
    receive_expired: 'int',
    send_pending: 'int',
    send_completed: 'int',
    send_failed: 'int',
    send_expired: 'int',
  })
}

const createTransactionTables: Migration = async (db) => {
  await createTable(db, 'gateway_transactions', {
    id: 'text',
    wallet_id: 'text',
    environment_id: 'text',
    team_id: 'text',
    direction: 'text',
    status: 'text?',
    payment_hash: 'text?',
    created_at: 'big',
    ends_at: 'big?',
    view: 'text',
  })
  await createIndex(db, 'gateway_transactions', ['created_at', 'id'])
  await createIndex(db, 'gateway_transactions', ['wallet_id', 'created_at', 'id'])
  await createIndex(db, 'gateway_transactions', ['environment_id', 'created_at', 'id'])
  // A list of a rare status must not read all transactions.
  await createIndex(db, 'gateway_transactions', ['wallet_id', 'status', 'created_at', 'id'])
  await createIndex(db, 'gateway_transactions', ['environment_id', 'status', 'created_at', 'id'])
  await createIndex(db, 'gateway_transactions', ['payment_hash'])
  // Few transactions are open at a time, so this index makes counting them cheap.
  await db.schema
    .createIndex('gateway_transactions_open')
    .on('gateway_transactions')
    .columns(['direction', 'ends_at'])
    .where(isOpenTransactionRow)
    .execute()
  await createTable(
    db,
    'gateway_transaction_facts',
    { id: 'text', transaction_id: 'text', revision: 'int', type: 'text', reason: 'text?', at: 'big' },
    ['transaction_id', 'revision'],
  )
}

const createErasureTable: Migration = (db) =>
  createTable(db, 'gateway_payments_erasures', { id: 'text', kind: 'text', at: 'big', due_at: 'big' })

export const paymentsMigrations: readonly MigrationHistory[] = [
  { name: 'gateway payments', steps: [createWalletTables, createTransactionTables, createErasureTable] },
]
