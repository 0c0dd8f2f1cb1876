import { onNth, type Scenario, type ScenarioTools } from './scenario-tools.ts'

const FRESH_CHANNEL = 'the seller names a fresh channel'
const UNKNOWN_OUTPOINT = 'the seller names what is nowhere'

/** The seller submits a second outpoint before the order receives reports of the channel watch about the first outpoint. */
export function sellerReplacesOutpoint({ onFact, inject, pick, maybe, openManually, raiseFees }: ScenarioTools): Scenario {
  return {
    triggers: [
      ...openManually(pick(FRESH_CHANNEL, FRESH_CHANNEL, FRESH_CHANNEL, 'the seller names a small channel', UNKNOWN_OUTPOINT)),
      onFact(
        'order OutpointAccepted',
        inject('order hears the watch late', { at: 0, amount: [3000, 8000] }),
        inject(pick(FRESH_CHANNEL, FRESH_CHANNEL, UNKNOWN_OUTPOINT), { at: [0, 2000], amount: 0 }),
        ...maybe(inject('blocks are mined', { at: [0, 500], amount: [1, 12] })),
        ...maybe(raiseFees()),
      ),
      onFact('channel FundingSeen', ...maybe(inject('the funding is forgotten', { at: [0, 300], amount: [500, 1600] }))),
      onFact('order FundingConfirmedRecorded', ...maybe(inject('settlement is asked late', { at: 0, amount: [1500, 4000] }))),
      onNth(onFact('order OutpointAccepted', ...maybe(inject('the seller goes back to an outpoint', { amount: 0 }))), 2),
      onFact('channel FundingConfirmed', ...maybe(inject('a re-org', { at: [0, 600], amount: [1, 3] }))),
    ],
  }
}

/** The seller submits a second outpoint. The answer to its claim or registration arrives after the first funding confirms. */
export function secondOutpointDecidedLate({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario {
  const isRegistered = pick(true, false)
  return {
    triggers: [
      ...openManually(),
      onFact(
        'order OutpointAccepted',
        inject('order hears the watch late', { at: 0, amount: [400, 1600] }),
        inject(pick(FRESH_CHANNEL, FRESH_CHANNEL, UNKNOWN_OUTPOINT), { at: [0, 60], amount: 0 }),
      ),
      onNth(
        onFact(
          isRegistered ? 'order OutpointClaimedRecorded' : 'order OutpointSubmitted',
          inject(isRegistered ? 'order hears settlement late' : 'order hears of claims late', { at: 0, amount: [800, 4500] }),
        ),
        2,
      ),
      // The delay prevents a settlement for the first outpoint.
      onFact(
        'order FundingConfirmedRecorded',
        inject('settlement is asked late', { at: 0, amount: [2000, 5000] }),
        ...maybe(inject('order hears the watch late', { at: 0, amount: [2000, 5000] })),
      ),
    ],
  }
}

/** The seller submits its first outpoint again after a re-organisation. The order receives all reports of its watches at once. */
export const sellerReturnsToFirstOutpoint = ({ onFact, inject, pick, openManually }: ScenarioTools): Scenario => ({
  triggers: [
    ...openManually(),
    onFact('order OutpointAccepted', inject('order hears the watch late', { at: 0, amount: [5000, 8000] })),
    onFact('channel FundingConfirmed', inject(pick(FRESH_CHANNEL, UNKNOWN_OUTPOINT), { at: [0, 60], amount: 0 })),
    onNth(onFact('channel WatchStarted', inject('a re-org', { at: [0, 20], amount: [3, 6] })), 2),
    onNth(onFact('order OutpointAccepted', inject('the seller goes back to an outpoint', { at: [10, 60], amount: 0 })), 2),
  ],
})

/** The channel watch reports a funding as lost. The seller submits another outpoint before the order receives the report. */
export const fundingLostBeforeNextOutpoint = ({ onFact, inject, pick, openManually }: ScenarioTools): Scenario => ({
  triggers: [
    ...openManually(UNKNOWN_OUTPOINT),
    onFact(
      'order OutpointAccepted',
      inject('order hears the watch late', { at: 0, amount: [4000, 8000] }),
      inject('blocks are mined', { at: [50, 400], amount: 12 }),
    ),
    onFact(
      'channel FundingLost',
      inject(pick(FRESH_CHANNEL, FRESH_CHANNEL, 'the seller names a small channel'), { at: [0, 300], amount: 0 }),
    ),
  ],
})

/** A seller submits invented outpoints until the order refuses more, while blocks are mined or the opening window ends. */
export const inventedOutpoints = ({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario => ({
  triggers: [
    ...openManually(UNKNOWN_OUTPOINT),
    ...[1, 2, 3, 4, 5].map((time) =>
      onNth(onFact('order OutpointAccepted', inject(UNKNOWN_OUTPOINT, { at: [20, 200], amount: 0 })), time),
    ),
    onFact('order OutpointAccepted', ...maybe(inject('blocks are mined', { at: [0, 20], amount: pick(4, 5, 7) }))),
    onNth(
      onFact('order OutpointAccepted', ...maybe(inject('the seller goes back to an outpoint', { at: [300, 600], amount: 0 }))),
      2,
    ),
  ],
})

/**
 * A seller submits a second outpoint before the order receives reports about the first outpoint. The first channel turns out to
 * be invalid while the order waits for the outpoint claim of the second.
 */
export function invalidChannelDuringNextClaim({ onFact, inject, pick, maybe, openManually, raiseFees }: ScenarioTools): Scenario {
  const isSmall = pick(true, false, false, false)
  const wrongFact = pick('order FundingSeenRecorded', 'order FundingConfirmedRecorded', 'order ChannelOpened')
  return {
    workloadMs: 14_000,
    triggers: [
      ...openManually(isSmall ? 'the seller names a small channel' : FRESH_CHANNEL),
      onFact(
        'order OutpointAccepted',
        inject('order hears the watch late', { at: 0, amount: [120, 600] }),
        inject('order hears of claims late', { at: 0, amount: [5000, 9000] }),
        inject(pick(FRESH_CHANNEL, FRESH_CHANNEL, UNKNOWN_OUTPOINT), { at: [0, 30], amount: 0 }),
        ...(wrongFact === 'order FundingSeenRecorded' ? [raiseFees()] : []),
      ),
      onFact(
        wrongFact,
        inject('settlement is asked late', { at: 0, amount: [3000, 6000] }),
        inject(pick('the channel is closed', 'the seller attests falsely'), { at: [0, 30], amount: 1 }),
        ...maybe(inject('blocks are mined', { at: [40, 400], amount: [1, 2] })),
      ),
    ],
  }
}
