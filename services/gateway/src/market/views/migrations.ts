import type { Migration, Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { type Columns, createIndex, createTable, type MigrationHistory } from '../../create-table.ts'
import { isPayoutDueRow } from './payout-due-row.ts'

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

/** Creates the tables of the projection of orders. @param suffix the suffix of their version */
const createOrderTables =
  (suffix: string): Migration =>
  async (db) => {
    const [orders, holds, facts] = [`gateway_orders${suffix}`, `gateway_holds${suffix}`, `gateway_order_facts${suffix}`]
    await createTable(db, orders, {
      id: 'text',
      status: 'text',
      open: 'int',
      to_pay: 'int',
      source: 'text',
      buyer_account_id: 'text',
      destination: 'text',
      page_hash: 'text',
      created_at: 'big',
      view: 'text',
    })
    await createIndex(db, orders, ['buyer_account_id', 'created_at'])
    await createIndex(db, orders, ['page_hash'])
    // Few orders are open at a time, so this index makes counting them cheap.
    await createFlagIndex(db, orders, 'status', 'open')
    await createTable(db, holds, { order_id: 'text', invoice_due: 'int', view: 'text' })
    await createFlagIndex(db, holds, 'order_id', 'invoice_due')
    // Contains only rows with an open payout, of which few exist at a time.
    await db.schema.createIndex(`${holds}_owing`).on(holds).column('order_id').where(isPayoutDueRow).execute()
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
    await createSalesTable(db, suffix)
  }

async function createSalesTable(db: Views['db'], suffix: string): Promise<void> {
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
  // Agents often query the few sales that wait for their seller, so this index contains only those sales.
  await createFlagIndex(db, sales, 'account_id', 'action_needed')
}

/** Creates the tables of the projection of offers, sellers and the price. @param suffix the suffix of their version */
const createOfferTables =
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
    await createIndex(db, offers, ['account_id', 'created_at'])
    await createTable(db, `gateway_offer_orders${suffix}`, { offer_id: 'text', order_id: 'text' }, ['offer_id', 'order_id'])
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

const createQuotaTables: Migration = async (db) => {
  await createTable(db, 'gateway_order_slots', { order_id: 'text', ip: 'text', destination: 'text', at: 'big' })
  await createIndex(db, 'gateway_order_slots', ['ip'])
  await createIndex(db, 'gateway_order_slots', ['destination'])
  await createTable(db, 'gateway_slot_locks', { name: 'text', at: 'big' })
}

/**
 * Tables of a new version have their own migration history, so that a process of the previous release finds its tables unchanged
 * during a rolling upgrade.
 */
export const marketMigrations: readonly MigrationHistory[] = [
  { name: 'gateway orders v2', steps: [createOrderTables('_v2')] },
  { name: 'gateway offers v2', steps: [createOfferTables('_v2')] },
  { name: 'gateway order quotas', steps: [createQuotaTables] },
]
