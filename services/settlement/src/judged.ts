import { type Evidence, judge, type Verdict } from '@penstock/bitcoin/channel-proof.ts'
import type { EvidenceData, PeerProof } from '@penstock/contracts/settlement.ts'
import type { ChannelTerms } from '@penstock/contracts/shapes.ts'
import type { Hold } from './hold.ts'

type When = { readonly lastHeight: boolean; readonly recorded?: PeerProof | null }

/** The judgement over evidence as messages carry it, with amounts as texts. */
export const judged = (terms: ChannelTerms, evidence: EvidenceData, when: When): Verdict =>
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

/** The peer proof that was recorded for the outpoint that counts now. */
export const recordedOf = ({ noted, peerProof }: Hold): PeerProof | null =>
  peerProof !== null && peerProof.outpoint === noted?.outpoint ? peerProof.peer : null
