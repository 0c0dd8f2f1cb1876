import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { CancelOutcome, HoldInvoiceRequest, Htlc, Invoice, SettleOutcome } from '@penstock/ports/lightning.ts'
import { cancelHtlcs, settleHtlcs } from './htlcs.ts'
import { type Node, secretKeyOf } from './nodes.ts'
import { giveBackParts } from './parts.ts'
import type { Net } from './store.ts'

/** lnd cancels a held invoice so many blocks before its first HTLC ends, so that no channel is closed for it. */
export const HOLD_EXPIRY_DELTA = 12
const ORDINARY_CLTV_DELTA = 80

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

export function findInvoiceRow(net: Net, node: string, paymentHash: string): InvoiceRow | undefined {
  return net.get<InvoiceRow>('SELECT * FROM invoices WHERE node = ? AND payment_hash = ?', node, paymentHash)
}

export function findInvoice(net: Net, node: string, paymentHash: string): Invoice | undefined {
  const row = findInvoiceRow(net, node, paymentHash)
  return row && toInvoice(net, row)
}

export const heldInvoices = (net: Net, node: string): Invoice[] =>
  net
    .all<InvoiceRow>("SELECT * FROM invoices INDEXED BY invoices_held WHERE node = ? AND state = 'held'", node)
    .map((row) => toInvoice(net, row))

/** A second call with a hash that is known answers with what is there. */
export function createHoldInvoice(net: Net, node: Node, request: HoldInvoiceRequest): Invoice {
  return findInvoice(net, node.pubkey, request.paymentHash) ?? insert(net, node, request, null)
}

export function createInvoice(
  net: Net,
  node: Node,
  request: { amountMsat: bigint; expirySeconds: number; description: string },
): Invoice {
  const preimage = net.random(32)
  return insert(net, node, { ...request, paymentHash: paymentHashOf(preimage), cltvDelta: ORDINARY_CLTV_DELTA }, preimage)
}

export function settleInvoice(net: Net, node: string, preimage: string): SettleOutcome {
  const paymentHash = paymentHashOf(preimage)
  const row = findInvoiceRow(net, node, paymentHash)
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
      settleHtlcs(net, node, paymentHash, preimage)
      net.run(
        "UPDATE invoices SET state = 'settled', preimage = ? WHERE node = ? AND payment_hash = ?",
        preimage,
        node,
        paymentHash,
      )
      net.touch(`invoice/${paymentHash}`)
      return 'settled'
  }
}

export function cancelInvoice(net: Net, node: string, paymentHash: string): CancelOutcome {
  const row = findInvoiceRow(net, node, paymentHash)
  switch (row?.state) {
    case undefined:
      return 'unknown'
    case 'settled':
      return 'settled'
    case 'cancelled':
      return 'already-cancelled'
    case 'open':
    case 'held':
      cancelHtlcs(net, node, paymentHash, 'rejected-by-destination')
      net.run("UPDATE invoices SET state = 'cancelled' WHERE node = ? AND payment_hash = ?", node, paymentHash)
      net.touch(`invoice/${paymentHash}`)
      return 'cancelled'
  }
}

/** Cancels what nobody paid in time, and gives back what was paid in part. An invoice that is held is past caring. */
export function lapseInvoices(net: Net): void {
  giveBackParts(net, net.clock.now())
  const due = net.all<{ node: string; payment_hash: string }>(
    "SELECT node, payment_hash FROM invoices WHERE state = 'open' AND expires_at <= ?",
    net.clock.now(),
  )
  for (const { node, payment_hash } of due) cancelInvoice(net, node, payment_hash)
}

/** Held invoices by what they hold; a part that went back before is not among it (lnd counts what it has accepted). */
const DUE = `SELECT DISTINCT h.receiver, h.payment_hash FROM invoices i JOIN nodes n ON n.pubkey = i.node
  JOIN htlcs h ON h.payment_hash = i.payment_hash AND h.receiver = i.node
  WHERE i.state = 'held' AND n.online = 1 AND h.is_last = 1 AND h.waits_since IS NULL AND h.expiry_height <= ?`

/**
 * What every node does on a block: gives back what waits too close to its end. One that is offline does it with the first
 * block that it sees again; at the end of an HTLC its payer has taken the money back, whatever the invoice still shows.
 */
export function cancelHeldBefore(net: Net, height: number): void {
  const due = net.all<{ receiver: string; payment_hash: string }>(DUE, height + HOLD_EXPIRY_DELTA)
  for (const { receiver, payment_hash } of due) cancelInvoice(net, receiver, payment_hash)
  const ended = net.all<{ receiver: string; payment_hash: string }>(
    "SELECT DISTINCT receiver, payment_hash FROM htlcs WHERE state = 'held' AND is_last = 1 AND expiry_height <= ?",
    height,
  )
  for (const { receiver, payment_hash } of ended) cancelHtlcs(net, receiver, payment_hash, 'timeout')
}

function insert(net: Net, node: Node, request: HoldInvoiceRequest, preimage: string | null): Invoice {
  const createdAt = net.clock.now()
  const paymentSecret = net.random(32)
  const text = encodePaymentRequest(
    { ...request, network: 'regtest', paymentSecret, createdAt, payee: node.pubkey },
    secretKeyOf(net, node.alias),
  )
  net.run(
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

function toInvoice(net: Net, row: InvoiceRow): Invoice {
  const htlcs = net.all<HtlcRow>(
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
      // As its node has it: what becomes of it on the chain is written in no invoice. A part that went back stays so.
      state: row.state === 'open' || waits_since !== null ? state : row.state,
      acceptedAt: accepted_at === null ? null : Number(accepted_at),
    })),
  }
}
