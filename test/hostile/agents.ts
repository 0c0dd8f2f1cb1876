import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recover } from '@penstock/bitcoin/message-signature.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Attestation, Candidate } from '@penstock/contracts/shapes.ts'

/** A fact of an order, and which one. */
export type OfOrder = { readonly orderId: string; readonly fact: OrderFact }

/**
 * Whose word a fact is, learned from an order's facts in their order. Agents go on working whatever is tried, so what they
 * said themselves was asked for by no shot; but that an order is an agent's does not make everything its word.
 * @returns the key of the seller's node where nobody but its agent can have said it: it was said in the agent's account, or
 * what only that node can have made was given with it
 */
export function openSpeakers(): (said: OfOrder) => string | undefined {
  const candidates = new Map<string, Candidate>()
  return ({ orderId, fact: { type, data } }) => {
    const seller = (attempt: number): Candidate | undefined => candidates.get(`${orderId}/${attempt}`)
    switch (type) {
      case 'OrderPlaced':
      case 'AttemptStarted':
        candidates.set(`${orderId}/${type === 'OrderPlaced' ? 1 : data.attempt}`, data.candidate)
        return undefined
      case 'SellerAccepted':
        return data.by === seller(1)?.sellerAccountId ? seller(1)?.sellerPubkey : undefined
      case 'PayoutInvoiceOffered':
        return isInvoiceFor(orderId, data.request, seller(data.attempt)) ? seller(data.attempt)?.sellerPubkey : undefined
      case 'OutpointOffered':
        return isSigned(data.outpoint, data.attestation, seller(data.attempt)) ? seller(data.attempt)?.sellerPubkey : undefined
      default:
        return undefined
    }
  }
}

/** Agents write the order into the description of the invoice that is theirs to be paid with, and their node signs that. */
function isInvoiceFor(orderId: string, request: string, seller: Candidate | undefined): boolean {
  const invoice = decodePaymentRequest(request)
  return (
    invoice !== undefined &&
    invoice.payee === seller?.sellerPubkey &&
    invoice.amountMsat === BigInt(seller.sellerAmountMsat) &&
    invoice.description?.includes(orderId) === true
  )
}

function isSigned(outpoint: string, attestation: Attestation | null, seller: Candidate | undefined): boolean {
  if (!attestation || attestation.outpoint !== outpoint || !seller) return false
  const { signature, capacitySat, pushSat, reserveSat, fundingKeys, ...rest } = attestation
  const text = attestationText({
    ...rest,
    capacitySat: BigInt(capacitySat),
    pushSat: BigInt(pushSat),
    reserveSat: BigInt(reserveSat),
    ...(fundingKeys && { fundingKeys }),
  })
  return recover(text, signature) === seller.sellerPubkey
}
