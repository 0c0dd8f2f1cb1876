import type { Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'

/** The gateway's read models. Documents (`view`) are JSON texts of the folds beside this file; columns are what is searched by. */
export type Tables = {
  gateway_orders_v2: {
    id: string
    status: string
    /** 1 while the buyer's money can still be taken or locked. */
    open: number
    /** 1 while its invoice waits for the buyer. */
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
  /** Every fact about an order, from all streams that carry its id. */
  gateway_order_facts_v2: {
    event_id: string
    order_id: string
    category: string
    revision: number
    type: string
    at: number
    data: string
  }
  /** An order as one of its sellers sees it: one row for each seller's account. */
  gateway_sales_v2: {
    order_id: string
    account_id: string
    seller_pubkey: string
    buyer_pubkey: string
    /** The seller's newest attempt; 0 for a candidate that has none yet. */
    attempt: number
    current: number
    action_needed: number
    created_at: number
  }
  gateway_offers: {
    id: string
    account_id: string
    pubkey: string
    status: string
    min_size_sat: number
    max_size_sat: number
    created_at: number
    view: string
  }
  gateway_sellers: { pubkey: string; live: number; view: string }
  gateway_prices: {
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
  /** What became of commands that callers wait for; kept for a day. */
  gateway_commands: {
    id: string
    category: string
    aggregate_id: string
    revision: number | null
    code: string | null
    message: string | null
    at: number
  }
  /** Who began an order, for the limits; the address of a caller is in no fact. */
  gateway_order_slots: { order_id: string; ip: string; destination: string; at: number }
  /** Where and when tokens are used, for their owners; no fold of facts. `created_at`: null where it was not kept yet. */
  gateway_sessions: { hash: string; created_at: number | null; last_used_at: number; ip_prefix: string | null }
  /** Accounts that were deleted lately, or have an open order: their texts are deleted again and again. `at`: of the deletion. */
  gateway_erasures: { account_id: string; at: number }
  gateway_slot_locks: { name: string; at: number }
  /** Whom LSPS1 names to wallets, for ten minutes each. `uris`: addresses with a blank between them. */
  gateway_lsp_sellers: { type: string; epoch: number; pubkey: string; place: number; uris: string }
}

/** The gateway's tables on a connection or in a transaction that knows only `object`. */
export const tablesOf = (views: Pick<Views, 'db'>): Kysely<Tables> => views.db.$extendTables<Tables>()
export const tablesIn = (trx: Transaction<object>): Transaction<Tables> => trx.$extendTables<Tables>()
