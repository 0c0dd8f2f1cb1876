import type { Evidence } from '@penstock/bitcoin/channel-proof.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'

/** Evidence as messages carry it, as the proof takes it: amounts are numbers there. */
export function toEvidence({ output, graph, attestation, attestationSigner, ...rest }: EvidenceData): Evidence {
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
