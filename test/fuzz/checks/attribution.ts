import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { AttestationData, Candidate } from '@penstock/contracts/shapes.ts'

/** A fact of an order, with the id of the order. */
export type OrderFactEntry = { readonly orderId: string; readonly fact: OrderFact }

/**
 * Attributes facts to sellers' agents, which keep working during a campaign. Fuzz requests do not cause these facts. They may
 * cause other facts of the same orders. The function needs the facts of each order in sequence.
 * @returns the key of the seller's node if only its agent can have caused the fact, otherwise undefined. The proof is the
 * agent's account or a signature of the node in the fact.
 */
export function createFactAttribution(): (entry: OrderFactEntry) => string | undefined {
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
      case 'PayoutInvoiceSubmittedRecorded':
        return isSellerInvoice(orderId, data.request, seller(data.attempt)) ? seller(data.attempt)?.sellerPubkey : undefined
      case 'OutpointSubmitted':
        return isSignedBySeller(data.outpoint, data.attestation, seller(data.attempt))
          ? seller(data.attempt)?.sellerPubkey
          : undefined
      default:
        return undefined
    }
  }
}

/** Agents write the order's id into the description of their payout invoice, which their node signs. */
function isSellerInvoice(orderId: string, request: string, seller: Candidate | undefined): boolean {
  const invoice = decodePaymentRequest(request)
  return (
    invoice !== undefined &&
    invoice.payee === seller?.sellerPubkey &&
    invoice.amountMsat === BigInt(seller.sellerAmountMsat) &&
    invoice.description?.includes(orderId) === true
  )
}

function isSignedBySeller(outpoint: string, attestation: AttestationData | null, seller: Candidate | undefined): boolean {
  if (!attestation || attestation.outpoint !== outpoint || !seller) return false
  const { signature, capacitySat, pushSat, reserveSat, fundingKeys, ...rest } = attestation
  const text = formatChannelAttestation({
    ...rest,
    capacitySat: BigInt(capacitySat),
    pushSat: BigInt(pushSat),
    reserveSat: BigInt(reserveSat),
    ...(fundingKeys && { fundingKeys }),
  })
  return recoverPubkey(text, signature) === seller.sellerPubkey
}
