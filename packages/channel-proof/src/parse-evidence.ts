import type { ChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import type { ChannelEvidence } from './judge.ts'

/** Converts evidence from its form in messages, with amounts as text, to its form in proofs, with bigints. */
export const parseEvidence = ({ output, graph, attestation, attestationSigner, ...rest }: EvidenceData): ChannelEvidence => ({
  ...rest,
  output: output && { ...output, valueSat: BigInt(output.valueSat) },
  graph: graph && { ...graph, capacitySat: BigInt(graph.capacitySat) },
  ...(attestation && { attestation: parseAttestation(attestation) }),
  ...(attestationSigner !== null && { attestationSigner }),
})

export const parseAttestation = ({ fundingKeys, ...attestation }: AttestationData): ChannelAttestation => ({
  ...attestation,
  ...(fundingKeys && { fundingKeys }),
  capacitySat: BigInt(attestation.capacitySat),
  pushSat: BigInt(attestation.pushSat),
  reserveSat: BigInt(attestation.reserveSat),
})
