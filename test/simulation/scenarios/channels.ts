import { CHANNEL_KINDS, onNth, type Scenario, type ScenarioTools, WATCH_FACTS } from './scenario-tools.ts'

/** A seller submits its outpoint without an attestation, and submits the attestation later. */
export function attestationAfterSubmission({ onFact, inject, pick, maybe, agentAway }: ScenarioTools): Scenario {
  const factType = pick(
    ...WATCH_FACTS,
    'order OutpointAccepted',
    'channel FundingLost',
    'channel ChannelInvalid',
    'settlement SettlementWanted',
    'settlement SettlementWanted',
    'settlement SettlementStarted',
    'settlement HoldSettled',
    'order ReleaseRequested',
  )
  return {
    triggers: [
      ...agentAway,
      onFact(
        'order ChannelOpenRequested',
        inject(`the seller names a ${pick('fresh', 'fresh', 'fresh', 'small')} channel`, { amount: 0 }),
        ...maybe(inject('the buyer keeps probes', { amount: [2000, 9000] })),
      ),
      onFact(
        factType,
        ...maybe(inject(pick('channel-watcher is down', 'settlement is down', 'order is down'), { at: [0, 20] })),
        inject(pick('the seller attests', 'the seller attests falsely'), { at: [0, 60] }),
      ),
      onFact('channel FundingSeen', ...maybe(inject('the funding is forgotten', { at: [0, 300], amount: [500, 1600] }))),
    ],
  }
}

/** A second outpoint is submitted for one order, and blocks arrive before settlement records it. */
export function secondOutpointBeforeRegistration({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario {
  const secondOutpoint = pick(
    'the seller names a fresh channel',
    'the seller names a small channel',
    'the seller names what is nowhere',
    "the seller names another's channel",
  )
  return {
    triggers: [
      ...maybe(...openManually(`the seller names a ${pick(...CHANNEL_KINDS)} channel`, {})),
      onFact(
        'order OutpointAccepted',
        ...maybe(inject('order is down', { at: 0, amount: [500, 2000] })),
        inject(secondOutpoint, { at: [0, 150] }),
      ),
      onNth(
        onFact(
          `order ${pick('OutpointClaimedRecorded', 'OutpointClaimedRecorded', 'OutpointSubmitted')}`,
          inject(pick('settlement is down', 'settlement is down', 'channel-watcher is down'), { at: 0, amount: [1500, 4000] }),
          inject('blocks are mined', { at: [50, 400], amount: [1, 4] }),
          ...maybe(inject('the last height comes', { at: [500, 900], amount: [-1, 1] })),
          ...maybe(inject('the operator closes the order', { at: [0, 800] })),
        ),
        2,
      ),
      onNth(onFact('order OutpointAccepted', ...maybe(inject('the seller goes back to an outpoint'))), 2),
      onNth(
        onFact('order OutpointClaimedRecorded', ...maybe(inject('settlement is down', { at: 0 }), inject('blocks are mined'))),
        3,
      ),
    ],
  }
}

/** The channel-watcher is down while the chain reaches the last height, so settlement has seen more blocks than the watcher. */
export function watcherDown({ onFact, inject, pick, maybe, openManually, purchase }: ScenarioTools): Scenario {
  const isPrivate = pick(true, false)
  return {
    purchases: [purchase({ options: { private: isPrivate, rails_cluster_only: false } })],
    triggers: [
      ...(pick(true, false, false) ? openManually() : []),
      onFact('channel FundingSeen', ...maybe(inject('the funding is forgotten', { at: [0, 300], amount: [500, 1600] }))),
      onFact(
        pick(...WATCH_FACTS),
        ...(pick(true, true, false) ? [inject('channel-watcher is down', { at: [0, 80], amount: [4000, 8000] })] : []),
        inject('blocks are mined', { at: [100, 2200], amount: [1, 8] }),
        ...maybe(inject('the buyer is away', { at: 0, amount: [3000, 8000] })),
        inject('the last height comes', { at: [500, 3000], amount: [-2, 2] }),
        ...maybe(inject('a re-org', { at: [900, 3200], amount: [1, 6] })),
      ),
    ],
  }
}

/** The operator, the buyer or the node ends the order at any moment, and a service is down at that moment. */
export function operatorOrNodeEndsOrder({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario {
  const factType = pick(
    ...WATCH_FACTS,
    'order OrderPlaced',
    'order HoldIssuedRecorded',
    'order PaymentHeld',
    'order AttemptStarted',
    'order ChannelOpenRequested',
    'order OutpointSubmitted',
    'order OutpointClaimedRecorded',
    'order OutpointAccepted',
    'order ChannelOpened',
    'match SearchBegun',
    'match Matched',
    'settlement HoldRequested',
    'settlement HoldHeld',
    'settlement OutpointRegistered',
    'settlement SettlementWanted',
    'settlement SettlementStarted',
    'settlement CancelRequested',
  )
  const ending = pick(
    'the operator closes the order',
    'the operator closes the order',
    'the node cancels the hold',
    'the buyer cancels',
  )
  const outage = pick('order is down', 'matching is down', 'settlement is down', 'channel-watcher is down')
  return {
    triggers: [
      ...(pick(true, false, false)
        ? openManually(
            pick('the seller names what is nowhere', 'the seller names a fresh channel', 'the seller names a small channel'),
            {},
          )
        : []),
      onFact('order PaymentHeld', ...maybe(inject('the buyer keeps probes', { at: 0, amount: [5000, 9000] }))),
      onFact(
        factType,
        ...maybe(inject(outage, { at: 0 })),
        inject(ending, { at: pick([0, 0], [0, 20], [0, 500]) }),
        ...maybe(inject(ending, { at: [0, 900] })),
      ),
      onFact(
        `settlement ${pick('CancelRequested', 'HoldCancelled')}`,
        ...maybe(inject('blocks are mined', { at: 0, amount: [1, 12] })),
        ...maybe(inject('the channel is closed', { at: [0, 20] })),
        ...maybe(inject('the buyer pays again', { at: [0, 30] })),
        ...maybe(inject('the seller gives an invoice', { at: [0, 30] })),
      ),
    ],
  }
}

/** A funding pays less than the fee floor of blocks. It confirms only after the channel watch has reported it as lost. */
export function fundingBelowFeeFloor({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario {
  return {
    triggers: [
      ...maybe(...openManually('the seller names a fresh channel', {})),
      onFact(
        pick('channel FundingSeen', 'channel WatchStarted'),
        ...maybe(inject('order is down', { at: [0, 60], amount: [5000, 8000] })),
        inject('blocks get dear', { at: 0, amount: [900, 1800] }),
        inject('blocks are mined', { at: [100, 600], amount: [12, 24] }),
        ...maybe(inject('the seller attests', { at: [0, 700] })),
        inject('blocks are mined', { at: [2000, 2600], amount: [1, 8] }),
        ...maybe(inject('the last height comes', { at: [3000, 3600], amount: [-3, 1] })),
        ...maybe(inject('a re-org', { at: [3600, 4000], amount: [1, 7] })),
      ),
      onFact(
        'channel FundingLost',
        ...maybe(inject(pick('the seller names a fresh channel', 'the operator closes the order'), { at: [0, 40] })),
      ),
    ],
  }
}

/** The seller double-spends its unconfirmed funding. */
export function fundingDoubleSpent({ onFact, inject, pick, maybe, openManually, raiseFees }: ScenarioTools): Scenario {
  return {
    triggers: [
      ...maybe(...openManually('the seller names a fresh channel', {})),
      onFact(
        pick('channel FundingSeen', 'channel FundingSeen', 'channel WatchStarted', 'order OutpointAccepted'),
        raiseFees(),
        ...maybe(inject(pick('order is down', 'channel-watcher is down', 'settlement is down'), { at: [0, 60] })),
        inject('the funding is evicted', { at: [0, 900] }),
        ...maybe(inject(pick('the seller names a fresh channel', 'the seller attests'), { at: [0, 1500] })),
        ...maybe(inject('blocks are mined', { at: [500, 2000], amount: [1, 4] })),
        ...maybe(inject('the last height comes', { at: [2000, 3000], amount: [-3, 1] })),
      ),
      onFact(
        'channel FundingLost',
        ...maybe(inject(pick('the seller names a fresh channel', 'the operator closes the order'), { at: [0, 40] })),
      ),
    ],
  }
}

/** The funding confirms in the last blocks before the last height, and a re-organisation removes it again. */
export function fundingConfirmsInLastBlocks({ onFact, inject, pick, maybe, purchase }: ScenarioTools): Scenario {
  return {
    purchases: [purchase({ options: { private: pick(true, false), rails_cluster_only: false } })],
    triggers: [
      onFact('order AttemptStarted', ...maybe(inject('the buyer keeps probes', { at: 0, amount: [6000, 9000] }))),
      onFact(
        pick('channel FundingSeen', 'channel FundingSeen', 'channel WatchStarted'),
        inject('channel-watcher is down', { at: [0, 40], amount: [1200, 2000] }),
        inject('blocks get dear', { at: 0, amount: [700, 1100] }),
        inject('the last height comes', { at: [150, 400], amount: [-12, -4] }),
        inject(pick('a re-org', 'a re-org', 'the buyer is away'), { at: [2000, 4500], amount: [2, 7] }),
      ),
      onFact(
        pick('channel FundingConfirmed', 'channel ConfirmationsReached'),
        ...maybe(inject('a re-org', { at: [0, 400], amount: [2, 6] })),
      ),
    ],
  }
}
