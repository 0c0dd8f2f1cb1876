import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { AttestationData, Candidate } from '@penstock/contracts/shapes.ts'

/**
 * Checks an attestation before the order accepts it. Only the first accepted attestation counts, so a forged attestation
 * would exclude the seller's own.
 * @returns the fault as a sentence; undefined for an attestation that fits the order's terms
 */
export function describeAttestationFault(
  { sizeSat, destination }: Pick<OrderTerms, 'sizeSat' | 'destination'>,
  { sellerPubkey }: Pick<Candidate, 'sellerPubkey'>,
  attestation: AttestationData,
): string | undefined {
  const { nodeKeys, capacitySat, pushSat } = attestation
  if (![sellerPubkey, destination.pubkey].every((key) => nodeKeys.includes(key)))
    return "attestation.node_keys must be the seller's node and the buyer's"
  if (BigInt(capacitySat) < BigInt(sizeSat)) return `attestation.capacity must be at least ${sizeSat}, which was sold`
  if (BigInt(pushSat) !== 0n) return 'attestation.push_sats must be 0'
  if (recoverPubkey(attestationTextOf(attestation), attestation.signature) !== sellerPubkey)
    return "attestation.signature must be the signmessage of the seller's node over the attestation's text"
  return undefined
}

const attestationTextOf = ({ capacitySat, pushSat, reserveSat, fundingKeys, ...rest }: AttestationData): string =>
  formatChannelAttestation({
    ...rest,
    capacitySat: BigInt(capacitySat),
    pushSat: BigInt(pushSat),
    reserveSat: BigInt(reserveSat),
    ...(fundingKeys && { fundingKeys }),
  })
