import type { Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'
import type { AccountTables } from '../../account/views/tables.ts'

/**
 * The tables of the market, and those of accounts, which its queries join. A `view` is the JSON text of a state that is folded
 * from facts. Queries filter by the other columns.
 */
export type MarketTables = AccountTables & {
  gateway_orders_v2: {
    id: string
    status: string
    /** 1 while the buyer's payment can still be held or settled. */
    open: number
    /** 1 while the order's invoice awaits payment. */
    to_pay: number
    source: string
    buyer_account_id: string
    destination: string
    page_hash: string
    created_at: number
    view: string
  }
  gateway_holds_v2: { order_id: string; invoice_due: number; view: string }
  gateway_channels_v2: { order_id: string; view: string }
  /** Every fact of the order, settlement and channel streams of an order. */
  gateway_order_facts_v2: {
    event_id: string
    order_id: string
    category: string
    revision: number
    type: string
    at: number
    data: string
  }
  /** An order as one of its sellers sees it: one row per seller's account. */
  gateway_sales_v2: {
    order_id: string
    account_id: string
    seller_pubkey: string
    buyer_pubkey: string
    /** The seller's current or newest attempt; 0 for a candidate without an attempt. */
    attempt: number
    current: number
    action_needed: number
    created_at: number
  }
  gateway_offers_v2: {
    id: string
    account_id: string
    pubkey: string
    status: string
    min_size_sat: number
    max_size_sat: number
    created_at: number
    view: string
  }
  /** Orders for which an offer has reserved capacity, also after they ended. */
  gateway_offer_orders_v2: { offer_id: string; order_id: string }
  gateway_sellers_v2: { pubkey: string; live: number; view: string }
  gateway_prices_v2: {
    name: string
    sats_per_usd: string
    usd_per_usd: string
    valid_until: number
    at: number
    withdrawn: string | null
  }
  /** The IP address that requested an order, for the limits; no fact contains the address of a caller. */
  gateway_order_slots: { order_id: string; ip: string; destination: string; at: number }
  gateway_slot_locks: { name: string; at: number }
}

/** Adds the types of the tables to a connection or transaction without table types. */
export const withMarketTables = (views: Pick<Views, 'db'>): Kysely<MarketTables> => views.db.$extendTables<MarketTables>()
export const withMarketTablesIn = (trx: Transaction<object>): Transaction<MarketTables> => trx.$extendTables<MarketTables>()
