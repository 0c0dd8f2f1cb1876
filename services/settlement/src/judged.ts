import { type Evidence, judge, type Verdict } from '@penstock/bitcoin/channel-proof.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { ChannelTerms } from '@penstock/contracts/shapes.ts'

/** The judgement over evidence as messages carry it, with amounts as texts. */
export const judged = (terms: ChannelTerms, evidence: EvidenceData, when: { readonly lastHeight: boolean }): Verdict =>
  judge({ ...terms, capacitySat: BigInt(terms.capacitySat) }, weighed(evidence), when)

function weighed({ output, attestation, attestationSigner, graph, ...rest }: EvidenceData): Evidence {
  return {
    ...rest,
    output: output && { ...output, valueSat: BigInt(output.valueSat) },
    graph: graph && { ...graph, capacitySat: BigInt(graph.capacitySat) },
    ...(attestation && attestationSigner && { attestation: attestationOf(attestation), attestationSigner }),
  }
}

const attestationOf = ({
  fundingKeys,
  ...attestation
}: NonNullable<EvidenceData['attestation']>): NonNullable<Evidence['attestation']> => ({
  ...attestation,
  ...(fundingKeys && { fundingKeys }),
  capacitySat: BigInt(attestation.capacitySat),
  pushSat: BigInt(attestation.pushSat),
  reserveSat: BigInt(attestation.reserveSat),
})

/** Blocks on top of the funding, its own included; 0 while nothing confirmed it. */
export const confirmationsOf = ({ output, tipHeight }: EvidenceData): number =>
  output === null || output.height === null ? 0 : Math.max(0, tipHeight - output.height + 1)
