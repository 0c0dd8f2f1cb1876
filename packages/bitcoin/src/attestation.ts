/** What a node signs with `signmessage`. The texts are compared byte for byte: agents and services take them from here. */

/** What a seller's node says of the channel that it opened. */
export type Attestation = {
  readonly outpoint: string
  readonly capacitySat: bigint
  /** Node keys: seller, buyer. */
  readonly nodeKeys: readonly [string, string]
  /** Keys of the 2-of-2 in the funding output, where the node can tell them. */
  readonly fundingKeys?: readonly [string, string]
  readonly channelType: string
  readonly pushSat: bigint
  readonly reserveSat: bigint
  readonly signature: string
}

export const attestationText = (attestation: Omit<Attestation, 'signature'>): string =>
  [
    'penstock channel attestation 1',
    `outpoint ${attestation.outpoint}`,
    `capacity_sat ${attestation.capacitySat}`,
    `node_keys ${attestation.nodeKeys.join(' ')}`,
    `funding_keys ${attestation.fundingKeys?.join(' ') ?? '-'}`,
    // The one free text: quoted, so that it can't bring lines of its own.
    `channel_type ${JSON.stringify(attestation.channelType)}`,
    `push_sat ${attestation.pushSat}`,
    `reserve_sat ${attestation.reserveSat}`,
  ].join('\n')

/** A seller's heartbeat and proof of funds. @param at milliseconds since 1970 */
export const fundsAttestationText = ({
  pubkey,
  confirmedSats,
  at,
}: {
  readonly pubkey: string
  readonly confirmedSats: bigint
  readonly at: number
}): string => ['penstock funds attestation 1', `pubkey ${pubkey}`, `confirmed_sats ${confirmedSats}`, `at ${at}`].join('\n')
