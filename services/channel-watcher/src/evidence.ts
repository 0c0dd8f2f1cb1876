import type { ChannelEvidence } from '@penstock/channel-proof/judge.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'

/** Converts evidence from its form in messages to its form in proofs, where amounts are bigints. */
export function toEvidence({ output, graph, attestation, attestationSigner, ...rest }: EvidenceData): ChannelEvidence {
  return {
    ...rest,
    output: output && { ...output, valueSat: BigInt(output.valueSat) },
    graph: graph && { ...graph, capacitySat: BigInt(graph.capacitySat) },
    ...(attestation && { attestation: toAttestation(attestation) }),
    ...(attestationSigner !== null && { attestationSigner }),
  }
}

function toAttestation({ fundingKeys, capacitySat, pushSat, reserveSat, ...rest }: NonNullable<EvidenceData['attestation']>) {
  return {
    ...rest,
    ...(fundingKeys && { fundingKeys }),
    capacitySat: BigInt(capacitySat),
    pushSat: BigInt(pushSat),
    reserveSat: BigInt(reserveSat),
  }
}
