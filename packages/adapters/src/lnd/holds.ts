import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { CancelOutcome, HoldInvoiceRequest, HoldInvoices, Invoice, SettleOutcome } from '@penstock/ports/lightning.ts'
import {
  cancelHodlInvoice,
  createHodlInvoice,
  type GetInvoiceResult,
  getInvoices,
  settleHodlInvoice,
  subscribeToInvoice,
} from 'lightning'
import { changing } from '../shared/changing.ts'
import type { Connection } from './connection.ts'
import { expiresAt, findInvoice, toInvoice } from './invoices.ts'
import type { PeerOf } from './peer-of-channel.ts'
import { Refusal } from './refusal.ts'

/** What a stream that died unnoticed costs at most. */
const POLL_MS = 5000
const PAGE = 1000

export const holdInvoices = (node: Connection, peerOf: PeerOf): HoldInvoices => {
  const find = (paymentHash: string): Promise<Invoice | undefined> => findInvoice(node, peerOf, paymentHash)
  return {
    create: (request) => createHold(node, find, request),
    find,
    settle: (preimage) => settle(node, find, preimage),
    cancel: (paymentHash) => cancel(node, find, paymentHash),
    held: () => held(node, peerOf),
    changes: (paymentHash, signal) =>
      changing({
        read: () => find(paymentHash),
        listen: (knock, ended) => listen(node, paymentHash, knock, ended),
        pollMs: POLL_MS,
        clock: node.clock,
        signal,
      }),
  }
}

type Find = (paymentHash: string) => Promise<Invoice | undefined>

async function createHold({ ask, clock }: Connection, find: Find, request: HoldInvoiceRequest): Promise<Invoice> {
  const { paymentHash: id, amountMsat, cltvDelta, expirySeconds, description } = request
  try {
    await ask((lnd) =>
      createHodlInvoice({
        lnd,
        id,
        mtokens: `${amountMsat}`,
        cltv_delta: cltvDelta,
        expires_at: expiresAt(clock.now(), expirySeconds),
        description,
        is_including_private_channels: true,
      }),
    )
  } catch (error) {
    if (!(error instanceof Refusal && error.said.includes('already exists'))) throw error
  }
  const invoice = await find(id)
  if (!invoice) throw new Fault(`lnd does not find the invoice ${id} that it has just made`)
  return invoice
}

/** lnd answers a second settling with success, so that the state before it tells the first from the second. */
async function settle({ ask }: Connection, find: Find, preimage: string): Promise<SettleOutcome> {
  const before = await find(paymentHashOf(preimage))
  if (!before) return 'unknown'
  if (before.state === 'settled') return 'already-settled'
  if (before.state === 'cancelled') return 'cancelled'
  try {
    await ask((lnd) => settleHodlInvoice({ lnd, secret: preimage }))
    return 'settled'
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.reason === 'CannotSettleHtlcBeforeHtlcReceived') return 'not-held'
    if (error.reason === 'SecretDoesNotMatchAnyExistingHodlInvoice') return 'unknown'
    if (/already settled/.test(error.said)) return 'already-settled'
    if (/already canceled/.test(error.said)) return 'cancelled'
    throw error
  }
}

async function cancel({ ask }: Connection, find: Find, paymentHash: string): Promise<CancelOutcome> {
  const before = await find(paymentHash)
  if (!before) return 'unknown'
  if (before.state === 'cancelled') return 'already-cancelled'
  try {
    await ask((lnd) => cancelHodlInvoice({ lnd, id: paymentHash }))
    return 'cancelled'
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (/already settled/.test(error.said)) return 'settled'
    if (/already canceled/.test(error.said)) return 'already-cancelled'
    throw error
  }
}

/** Among the invoices that are neither settled nor cancelled: the guard asks on every block, so each is not read by itself. */
async function held(node: Connection, peerOf: PeerOf, page: Page = { limit: PAGE }): Promise<readonly Invoice[]> {
  const { invoices, next } = await node.ask((lnd) => getInvoices({ lnd, is_unconfirmed: true, ...page }))
  // The package makes the same of an invoice in a list as of one alone, and its types have forgotten some of it.
  const shown = invoices.filter(({ is_held }) => is_held) as unknown as readonly GetInvoiceResult[]
  const found = await Promise.all(shown.map((invoice) => toInvoice(peerOf, invoice)))
  const here = found.filter(({ state }) => state === 'held')
  return next === undefined ? here : [...here, ...(await held(node, peerOf, { token: next }))]
}

type Page = { readonly limit: number } | { readonly token: string }

/** lnd tells of held payments in the stream of the one invoice only, and the stream of an lnd that ends says nothing more. */
function listen({ lnd }: Connection, id: string, knock: () => void, ended: () => void): () => void {
  const stream = subscribeToInvoice({ lnd: lnd(), id })
  stream.on('invoice_updated', knock)
  stream.on('error', ended)
  stream.on('end', ended)
  return () => {
    stream.removeAllListeners('invoice_updated')
    // A late error without a listener would end the process.
    stream.on('error', () => undefined)
  }
}
