import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { CancelOutcome, HoldInvoiceRequest, Htlc, Invoice, SettleOutcome } from '@penstock/ports/lightning.ts'
import { cancelHtlcs, settleHtlcs } from './htlcs.ts'
import { type SimNodeRow, secretKeyOf } from '../nodes.ts'
import { expireParts } from './mpp-parts.ts'
import type { SimnetStore } from '../store.ts'

/** Number of blocks before the first HTLC's expiry at which lnd cancels a held invoice, so that no channel is closed for it. */
export const HOLD_EXPIRY_DELTA = 12
const DEFAULT_CLTV_DELTA = 80

export type InvoiceRow = {
  readonly node: string
  readonly payment_hash: string
  readonly request: string
  readonly amount_msat: bigint
  readonly cltv_delta: bigint
  readonly expires_at: bigint
  /** Null for a hold invoice until it is settled. */
  readonly preimage: string | null
  readonly state: Invoice['state']
}

export function findInvoiceRow(store: SimnetStore, node: string, paymentHash: string): InvoiceRow | undefined {
  return store.get<InvoiceRow>('SELECT * FROM invoices WHERE node = ? AND payment_hash = ?', node, paymentHash)
}

export function findInvoice(store: SimnetStore, node: string, paymentHash: string): Invoice | undefined {
  const row = findInvoiceRow(store, node, paymentHash)
  return row && toInvoice(store, row)
}

export const findHeldInvoices = (store: SimnetStore, node: string): Invoice[] =>
  store
    .all<InvoiceRow>("SELECT * FROM invoices INDEXED BY invoices_held WHERE node = ? AND state = 'held'", node)
    .map((row) => toInvoice(store, row))

/** Creates a hold invoice. A repeated call with a known hash returns the existing invoice. */
export function createHoldInvoice(store: SimnetStore, node: SimNodeRow, request: HoldInvoiceRequest): Invoice {
  return findInvoice(store, node.pubkey, request.paymentHash) ?? insertInvoice(store, node, request, null)
}

export function createInvoice(
  store: SimnetStore,
  node: SimNodeRow,
  request: { amountMsat: bigint; expirySeconds: number; description: string },
): Invoice {
  const preimage = store.random(32)
  return insertInvoice(store, node, { ...request, paymentHash: paymentHashOf(preimage), cltvDelta: DEFAULT_CLTV_DELTA }, preimage)
}

export function settleInvoice(store: SimnetStore, node: string, preimage: string): SettleOutcome {
  const paymentHash = paymentHashOf(preimage)
  const row = findInvoiceRow(store, node, paymentHash)
  switch (row?.state) {
    case undefined:
      return 'unknown'
    case 'settled':
      return 'already-settled'
    case 'cancelled':
      return 'cancelled'
    case 'open':
      return 'not-held'
    case 'held':
      settleHtlcs(store, node, paymentHash, preimage)
      store.run(
        "UPDATE invoices SET state = 'settled', preimage = ? WHERE node = ? AND payment_hash = ?",
        preimage,
        node,
        paymentHash,
      )
      store.notify(`invoice/${paymentHash}`)
      return 'settled'
  }
}

export function cancelInvoice(store: SimnetStore, node: string, paymentHash: string): CancelOutcome {
  const row = findInvoiceRow(store, node, paymentHash)
  switch (row?.state) {
    case undefined:
      return 'unknown'
    case 'settled':
      return 'settled'
    case 'cancelled':
      return 'already-cancelled'
    case 'open':
    case 'held':
      cancelHtlcs(store, node, paymentHash, 'rejected-by-destination')
      store.run("UPDATE invoices SET state = 'cancelled' WHERE node = ? AND payment_hash = ?", node, paymentHash)
      store.notify(`invoice/${paymentHash}`)
      return 'cancelled'
  }
}

/** Cancels unpaid invoices after their expiry, with the parts that arrived. A held invoice no longer expires. */
export function expireInvoices(store: SimnetStore): void {
  expireParts(store, store.clock.now())
  const due = store.all<{ node: string; payment_hash: string }>(
    "SELECT node, payment_hash FROM invoices WHERE state = 'open' AND expires_at <= ?",
    store.clock.now(),
  )
  for (const { node, payment_hash } of due) cancelInvoice(store, node, payment_hash)
}

/** Finds held invoices of which a held HTLC expires soon. As in lnd, a part that was cancelled before does not count. */
const DUE_HOLDS_SQL = `SELECT DISTINCT h.receiver, h.payment_hash FROM invoices i JOIN nodes n ON n.pubkey = i.node
  JOIN htlcs h ON h.payment_hash = i.payment_hash AND h.receiver = i.node
  WHERE i.state = 'held' AND n.online = 1 AND h.is_last = 1 AND h.waits_since IS NULL AND h.expiry_height <= ?`

/**
 * Makes nodes cancel holds that are too close to their expiry. It runs on each block, so an offline node cancels at the first
 * block after its return. When an HTLC expires, its payer gets the amount back, even if the invoice is still held.
 */
export function cancelExpiringHolds(store: SimnetStore, height: number): void {
  const due = store.all<{ receiver: string; payment_hash: string }>(DUE_HOLDS_SQL, height + HOLD_EXPIRY_DELTA)
  for (const { receiver, payment_hash } of due) cancelInvoice(store, receiver, payment_hash)
  const ended = store.all<{ receiver: string; payment_hash: string }>(
    "SELECT DISTINCT receiver, payment_hash FROM htlcs WHERE state = 'held' AND is_last = 1 AND expiry_height <= ?",
    height,
  )
  for (const { receiver, payment_hash } of ended) cancelHtlcs(store, receiver, payment_hash, 'timeout')
}

function insertInvoice(store: SimnetStore, node: SimNodeRow, request: HoldInvoiceRequest, preimage: string | null): Invoice {
  const createdAt = store.clock.now()
  const paymentSecret = store.random(32)
  const text = encodePaymentRequest(
    { ...request, network: 'regtest', paymentSecret, createdAt, payee: node.pubkey },
    secretKeyOf(store, node.alias),
  )
  store.run(
    "INSERT INTO invoices (node, payment_hash, request, amount_msat, cltv_delta, expires_at, preimage, state) VALUES (?, ?, ?, ?, ?, ?, ?, 'open')",
    node.pubkey,
    request.paymentHash,
    text,
    request.amountMsat,
    request.cltvDelta,
    createdAt + request.expirySeconds * 1000,
    preimage,
  )
  return { paymentHash: request.paymentHash, request: text, amountMsat: request.amountMsat, state: 'open', htlcs: [] }
}

type HtlcRow = {
  amount_msat: bigint
  expiry_height: bigint
  sender: string
  state: Htlc['state']
  waits_since: bigint | null
  accepted_at: bigint | null
}

function toInvoice(store: SimnetStore, row: InvoiceRow): Invoice {
  const htlcs = store.all<HtlcRow>(
    'SELECT amount_msat, expiry_height, sender, state, waits_since, accepted_at FROM htlcs WHERE payment_hash = ? AND receiver = ? AND is_last = 1 ORDER BY id',
    row.payment_hash,
    row.node,
  )
  return {
    paymentHash: row.payment_hash,
    request: row.request,
    amountMsat: row.amount_msat,
    state: row.state,
    htlcs: htlcs.map(({ amount_msat, expiry_height, sender, state, waits_since, accepted_at }) => ({
      amountMsat: amount_msat,
      expiryHeight: Number(expiry_height),
      peer: sender,
      // The state as the invoice reports it, which ignores the end of an HTLC on chain. A part that was cancelled before stays
      // cancelled.
      state: row.state === 'open' || waits_since !== null ? state : row.state,
      acceptedAt: accepted_at === null ? null : Number(accepted_at),
    })),
  }
}
