import type { Invoice } from '@penstock/ports/lightning.ts'
import { createInvoice as create, getInvoice, type GetInvoiceResult } from 'lightning'
import type { LndConnection } from './connection.ts'
import type { PeerFinder } from './peer-finder.ts'
import { LndRefusal } from './rpc-errors.ts'

const NO_SUCH_INVOICE = /unable to locate invoice|there are no existing invoices/

export async function lookUpInvoice(
  { ask }: LndConnection,
  findPeer: PeerFinder,
  paymentHash: string,
): Promise<Invoice | undefined> {
  try {
    const invoice = await ask((lnd) => getInvoice({ lnd, id: paymentHash }))
    return await toInvoice(findPeer, invoice)
  } catch (error) {
    if (error instanceof LndRefusal && NO_SUCH_INVOICE.test(error.details)) return undefined
    throw error
  }
}

export async function addInvoice(
  { ask, clock }: LndConnection,
  { amountMsat, expirySeconds, description }: { amountMsat: bigint; expirySeconds: number; description: string },
): Promise<Invoice> {
  const { id, request } = await ask((lnd) =>
    create({
      lnd,
      mtokens: `${amountMsat}`,
      description,
      expires_at: formatExpiry(clock.now(), expirySeconds),
      // Payers find a payee with only private channels by the invoice's routing hints.
      is_including_private_channels: true,
    }),
  )
  return { paymentHash: id, request, amountMsat, state: 'open', htlcs: [] }
}

export const formatExpiry = (now: number, expirySeconds: number): string => new Date(now + 1000 * expirySeconds).toISOString()

export async function toInvoice(findPeer: PeerFinder, invoice: GetInvoiceResult): Promise<Invoice> {
  // `lightning` returns `mtokens`, but its types omit it.
  const { mtokens } = invoice as GetInvoiceResult & { mtokens: string }
  return {
    paymentHash: invoice.id,
    request: invoice.request ?? '',
    amountMsat: BigInt(mtokens),
    state: invoiceStateOf(invoice),
    htlcs: await Promise.all(
      invoice.payments.map(async ({ mtokens: part, timeout, in_channel, is_held, is_confirmed, created_at }) => ({
        amountMsat: BigInt(part),
        expiryHeight: timeout,
        peer: await findPeer(in_channel),
        state: is_held ? ('held' as const) : is_confirmed ? ('settled' as const) : ('cancelled' as const),
        acceptedAt: Date.parse(created_at),
      })),
    ),
  }
}

function invoiceStateOf({ is_held, is_confirmed, is_canceled }: GetInvoiceResult): Invoice['state'] {
  if (is_confirmed) return 'settled'
  if (is_canceled) return 'cancelled'
  // lnd reports an invoice as held once the whole amount has arrived. Until then, arrived parts leave it open.
  return is_held ? 'held' : 'open'
}
