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
import { streamChanges } from '../shared/change-stream.ts'
import type { LndConnection } from './connection.ts'
import { formatExpiry, lookUpInvoice, toInvoice } from './invoices.ts'
import type { PeerFinder } from './peer-finder.ts'
import { LndRefusal } from './rpc-errors.ts'

/** Poll interval in ms. It bounds the delay of a change after the stream has ended unnoticed. */
const POLL_MS = 5000
const PAGE_SIZE = 1000

export const createHoldInvoicesPort = (node: LndConnection, findPeer: PeerFinder): HoldInvoices => {
  const find = (paymentHash: string): Promise<Invoice | undefined> => lookUpInvoice(node, findPeer, paymentHash)
  return {
    create: (request) => createHoldInvoice(node, find, request),
    find,
    settle: (preimage) => settleHold(node, find, preimage),
    cancel: (paymentHash) => cancelHold(node, find, paymentHash),
    held: () => listHeld(node, findPeer),
    changes: (paymentHash, signal) =>
      streamChanges({
        read: () => find(paymentHash),
        listen: (onChange, onEnd) => subscribeInvoiceUpdates(node, paymentHash, onChange, onEnd),
        pollMs: POLL_MS,
        clock: node.clock,
        signal,
      }),
  }
}

type InvoiceFinder = (paymentHash: string) => Promise<Invoice | undefined>

async function createHoldInvoice(
  { ask, clock }: LndConnection,
  find: InvoiceFinder,
  request: HoldInvoiceRequest,
): Promise<Invoice> {
  const { paymentHash: id, amountMsat, cltvDelta, expirySeconds, description } = request
  try {
    await ask((lnd) =>
      createHodlInvoice({
        lnd,
        id,
        mtokens: `${amountMsat}`,
        cltv_delta: cltvDelta,
        expires_at: formatExpiry(clock.now(), expirySeconds),
        description,
        is_including_private_channels: true,
      }),
    )
  } catch (error) {
    if (!(error instanceof LndRefusal && error.details.includes('already exists'))) throw error
  }
  const invoice = await find(id)
  if (!invoice) throw new Fault(`lnd does not find the invoice ${id} that it has just created`)
  return invoice
}

/**
 * Settles a hold invoice. lnd reports success for a second settle too, so only the state before the call distinguishes the two.
 */
async function settleHold({ ask }: LndConnection, find: InvoiceFinder, preimage: string): Promise<SettleOutcome> {
  const invoice = await find(paymentHashOf(preimage))
  if (!invoice) return 'unknown'
  if (invoice.state === 'settled') return 'already-settled'
  if (invoice.state === 'cancelled') return 'cancelled'
  try {
    await ask((lnd) => settleHodlInvoice({ lnd, secret: preimage }))
    return 'settled'
  } catch (error) {
    if (!(error instanceof LndRefusal)) throw error
    if (error.reason === 'CannotSettleHtlcBeforeHtlcReceived') return 'not-held'
    if (error.reason === 'SecretDoesNotMatchAnyExistingHodlInvoice') return 'unknown'
    if (/already settled/.test(error.details)) return 'already-settled'
    if (/already canceled/.test(error.details)) return 'cancelled'
    throw error
  }
}

async function cancelHold({ ask }: LndConnection, find: InvoiceFinder, paymentHash: string): Promise<CancelOutcome> {
  const invoice = await find(paymentHash)
  if (!invoice) return 'unknown'
  if (invoice.state === 'cancelled') return 'already-cancelled'
  try {
    await ask((lnd) => cancelHodlInvoice({ lnd, id: paymentHash }))
    return 'cancelled'
  } catch (error) {
    if (!(error instanceof LndRefusal)) throw error
    if (/already settled/.test(error.details)) return 'settled'
    if (/already canceled/.test(error.details)) return 'already-cancelled'
    throw error
  }
}

/**
 * Lists the held invoices from lnd's list of unfinished invoices. The guard calls this function on every block, so it does not
 * read invoices one by one.
 */
async function listHeld(
  node: LndConnection,
  findPeer: PeerFinder,
  page: Page = { limit: PAGE_SIZE },
): Promise<readonly Invoice[]> {
  const { invoices, next } = await node.ask((lnd) => getInvoices({ lnd, is_unconfirmed: true, ...page }))
  // `lightning` parses a listed invoice like a single invoice, but its types omit some of the fields.
  const heldInvoices = invoices.filter(({ is_held }) => is_held) as unknown as readonly GetInvoiceResult[]
  const found = await Promise.all(heldInvoices.map((invoice) => toInvoice(findPeer, invoice)))
  const heldOnPage = found.filter(({ state }) => state === 'held')
  return next === undefined ? heldOnPage : [...heldOnPage, ...(await listHeld(node, findPeer, { token: next }))]
}

type Page = { readonly limit: number } | { readonly token: string }

/**
 * Subscribes to one invoice, because only this subscription of lnd reports a held payment. The stream reports nothing more after
 * its lnd has stopped.
 */
function subscribeInvoiceUpdates({ lnd }: LndConnection, id: string, onChange: () => void, onEnd: () => void): () => void {
  const stream = subscribeToInvoice({ lnd: lnd(), id })
  stream.on('invoice_updated', onChange)
  stream.on('error', onEnd)
  stream.on('end', onEnd)
  return () => {
    stream.removeAllListeners('invoice_updated')
    // A late error without a listener would end the process.
    stream.on('error', () => undefined)
  }
}
