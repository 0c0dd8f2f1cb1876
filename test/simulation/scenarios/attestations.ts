import type { Scenario, ScenarioTools } from './scenario-tools.ts'

/** The seller sends an attestation only after the channel watch or the order has progressed without it. */
export function lateAttestation({ onFact, inject, pick, maybe, openManually, raiseFees }: ScenarioTools): Scenario {
  const attestation = pick('the seller attests', 'the seller attests falsely', 'the seller attests falsely')
  const factType = pick(
    'order OutpointSubmitted',
    'order OutpointAccepted',
    'channel FundingSeen',
    'channel FundingMissing',
    'channel FundingLost',
    'channel FundingLost',
    'channel ChannelInvalid',
    'channel ChannelInvalid',
    'channel ConfirmationsReached',
    'settlement SettlementWanted',
    'settlement SettlementWanted',
  )
  const firstInjection =
    factType === 'channel ChannelInvalid'
      ? 'the seller names a small channel'
      : factType === 'channel FundingLost'
        ? 'the seller names what is nowhere'
        : 'the seller names a fresh channel'
  const isDelayed = factType.startsWith('channel') || pick(true, false)
  return {
    triggers: [
      ...openManually(firstInjection),
      onFact(
        'order OutpointAccepted',
        ...(isDelayed && factType !== 'channel ConfirmationsReached'
          ? [inject('order hears the watch late', { at: 0, amount: [4000, 9000] })]
          : []),
        ...(factType === 'channel FundingLost' ? [inject('blocks are mined', { at: [100, 500], amount: 12 })] : []),
        ...maybe(raiseFees()),
      ),
      onFact(
        factType,
        ...(factType === 'settlement SettlementWanted'
          ? [
              inject('order hears settlement late', { at: 0, amount: [800, 2500] }),
              inject('order hears the watch late', { at: 0, amount: [1500, 4000] }),
              inject('settlement is asked late', { at: 0, amount: [1500, 4000] }),
            ]
          : []),
        ...(factType === 'order OutpointSubmitted' ? [inject('settlement is asked late', { at: 0, amount: [200, 900] })] : []),
        inject(attestation, { at: [0, 60] }),
      ),
      onFact(
        'channel FundingSeen',
        ...(factType === 'channel FundingMissing'
          ? [inject('the funding is forgotten', { at: [0, 300], amount: [700, 1600] })]
          : []),
      ),
    ],
  }
}

/** A replica of the order service freezes after it has recorded the attestation, and the second replica continues the order. */
export const attestationStuckInReplica = ({ onFact, inject, pick, openManually }: ScenarioTools): Scenario => ({
  triggers: [
    ...openManually(),
    onFact(
      pick('order OutpointAccepted', 'order FundingSeenRecorded', 'order FundingConfirmedRecorded'),
      inject(pick('the seller attests', 'the seller attests falsely'), { at: [0, 200] }),
    ),
    onFact(
      'order AttestationGiven',
      inject('a replica of order stands still', { at: 0, amount: [1500, 5000] }),
      inject('the node cancels the hold', { at: [0, 20] }),
    ),
  ],
})
