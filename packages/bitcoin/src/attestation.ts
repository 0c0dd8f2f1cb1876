/** Texts that a node signs with `signmessage`. Agents and services both build them here, because every byte must match. */

/** A signed statement of the seller's node about the channel that it opened. */
export type ChannelAttestation = {
  readonly outpoint: string
  readonly capacitySat: bigint
  /** Node keys: seller, buyer. */
  readonly nodeKeys: readonly [string, string]
  /** Keys of the 2-of-2 in the funding output, if the node knows them. */
  readonly fundingKeys?: readonly [string, string]
  readonly channelType: string
  readonly pushSat: bigint
  readonly reserveSat: bigint
  readonly signature: string
}

export const formatChannelAttestation = (attestation: Omit<ChannelAttestation, 'signature'>): string =>
  [
    'penstock channel attestation 1',
    `outpoint ${attestation.outpoint}`,
    `capacity_sat ${attestation.capacitySat}`,
    `node_keys ${attestation.nodeKeys.join(' ')}`,
    `funding_keys ${attestation.fundingKeys?.join(' ') ?? '-'}`,
    // The channel type is the only free text. JSON escapes its line breaks, so it cannot add lines.
    `channel_type ${JSON.stringify(attestation.channelType)}`,
    `push_sat ${attestation.pushSat}`,
    `reserve_sat ${attestation.reserveSat}`,
  ].join('\n')

/** A seller's heartbeat and proof of funds. @param at milliseconds since 1970 */
export const formatFundsAttestation = ({
  pubkey,
  confirmedSats,
  at,
}: {
  readonly pubkey: string
  readonly confirmedSats: bigint
  readonly at: number
}): string => ['penstock funds attestation 1', `pubkey ${pubkey}`, `confirmed_sats ${confirmedSats}`, `at ${at}`].join('\n')
