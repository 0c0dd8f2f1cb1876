import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { recover } from '@penstock/bitcoin/message-signature.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { Attestation, Candidate } from '@penstock/contracts/shapes.ts'

/**
 * An attestation is taken only as its signer must mean it: one that could be anybody's would keep the right one out,
 * since the first that is given counts.
 * @returns the sentence that says what is wrong; undefined where it fits the sale
 */
export function wrongAttestation(
  { sizeSat, destination }: Pick<OrderTerms, 'sizeSat' | 'destination'>,
  { sellerPubkey }: Pick<Candidate, 'sellerPubkey'>,
  attestation: Attestation,
): string | undefined {
  const { nodeKeys, capacitySat, pushSat } = attestation
  if (![sellerPubkey, destination.pubkey].every((key) => nodeKeys.includes(key)))
    return "attestation.node_keys must be the seller's node and the buyer's"
  if (BigInt(capacitySat) < BigInt(sizeSat)) return `attestation.capacity must be at least ${sizeSat}, which was sold`
  if (BigInt(pushSat) !== 0n) return 'attestation.push_sats must be 0'
  if (recover(textOf(attestation), attestation.signature) !== sellerPubkey)
    return "attestation.signature must be the signmessage of the seller's node over the attestation's text"
  return undefined
}

const textOf = ({ capacitySat, pushSat, reserveSat, fundingKeys, ...rest }: Attestation): string =>
  attestationText({
    ...rest,
    capacitySat: BigInt(capacitySat),
    pushSat: BigInt(pushSat),
    reserveSat: BigInt(reserveSat),
    ...(fundingKeys && { fundingKeys }),
  })
