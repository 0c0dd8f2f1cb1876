import type { Invoice } from '@penstock/ports/lightning.ts'
import { createInvoice as create, getInvoice, type GetInvoiceResult } from 'lightning'
import type { Connection } from './connection.ts'
import type { PeerOf } from './peer-of-channel.ts'
import { Refusal } from './refusal.ts'

const NO_SUCH_INVOICE = /unable to locate invoice|there are no existing invoices/

export async function findInvoice({ ask }: Connection, peerOf: PeerOf, paymentHash: string): Promise<Invoice | undefined> {
  try {
    const invoice = await ask((lnd) => getInvoice({ lnd, id: paymentHash }))
    return await toInvoice(peerOf, invoice)
  } catch (error) {
    if (error instanceof Refusal && NO_SUCH_INVOICE.test(error.said)) return undefined
    throw error
  }
}

export async function createInvoice(
  { ask, clock }: Connection,
  { amountMsat, expirySeconds, description }: { amountMsat: bigint; expirySeconds: number; description: string },
): Promise<Invoice> {
  const { id, request } = await ask((lnd) =>
    create({
      lnd,
      mtokens: `${amountMsat}`,
      description,
      expires_at: expiresAt(clock.now(), expirySeconds),
      // A payee whose channels are all private is found by its hints alone.
      is_including_private_channels: true,
    }),
  )
  return { paymentHash: id, request, amountMsat, state: 'open', htlcs: [] }
}

export const expiresAt = (now: number, expirySeconds: number): string => new Date(now + 1000 * expirySeconds).toISOString()

export async function toInvoice(peerOf: PeerOf, invoice: GetInvoiceResult): Promise<Invoice> {
  // The package gives it, and its types have forgotten it.
  const { mtokens } = invoice as GetInvoiceResult & { mtokens: string }
  return {
    paymentHash: invoice.id,
    request: invoice.request ?? '',
    amountMsat: BigInt(mtokens),
    state: stateOf(invoice),
    htlcs: await Promise.all(
      invoice.payments.map(async ({ mtokens: part, timeout, in_channel, is_held, is_confirmed, created_at }) => ({
        amountMsat: BigInt(part),
        expiryHeight: timeout,
        peer: await peerOf(in_channel),
        state: is_held ? ('held' as const) : is_confirmed ? ('settled' as const) : ('cancelled' as const),
        acceptedAt: Date.parse(created_at),
      })),
    ),
  }
}

function stateOf({ is_held, is_confirmed, is_canceled }: GetInvoiceResult): Invoice['state'] {
  if (is_confirmed) return 'settled'
  if (is_canceled) return 'cancelled'
  // lnd calls it held when the whole amount has arrived; parts that wait for others leave it open.
  return is_held ? 'held' : 'open'
}
