import type { Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'

/** The gateway's tables. A `view` is the JSON text of a state folded from facts; queries filter by the other columns. */
export type Tables = {
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
  /** Outcomes of commands that callers wait for; stored for a day. */
  gateway_commands: {
    id: string
    category: string
    aggregate_id: string
    revision: number | null
    code: string | null
    message: string | null
    at: number
  }
  /** The IP address that requested an order, for the limits; no fact contains the address of a caller. */
  gateway_order_slots: { order_id: string; ip: string; destination: string; at: number }
  /** Network and time of each token's last use; not folded from facts. `created_at`: null in rows of an older release. */
  gateway_sessions: { hash: string; created_at: number | null; last_used_at: number; ip_prefix: string | null }
  /** Deleted accounts whose texts the prune job still deletes at each run. `at`: the time of the deletion. */
  gateway_erasures: { account_id: string; at: number }
  gateway_slot_locks: { name: string; at: number }
  /** Sellers that LSPS1 publishes to wallets. `epoch`: a period of ten minutes. `uris`: addresses separated by spaces. */
  gateway_lsp_sellers: { type: string; epoch: number; pubkey: string; place: number; uris: string }
}

/** Adds the types of the gateway's tables to a connection or transaction without table types. */
export const withTables = (views: Pick<Views, 'db'>): Kysely<Tables> => views.db.$extendTables<Tables>()
export const withTablesIn = (trx: Transaction<object>): Transaction<Tables> => trx.$extendTables<Tables>()
