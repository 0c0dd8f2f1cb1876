import { NAMINGS, nth, type Scene, type Tools, WATCHED } from './scene-tools.ts'

/** A channel is named without an attestation, and that follows when it is hardly wanted any more. */
export function lateWord({ on, does, pick, maybe, byHand }: Tools): Scene {
  const when = pick(
    ...WATCHED,
    'order OutpointNamed',
    'channel FundingLost',
    'channel ChannelWrong',
    'settlement SettleAsked',
    'settlement SettleAsked',
    'settlement SettleRequested',
    'settlement HoldSettled',
    'order ReleaseRequested',
  )
  return {
    cues: [
      ...byHand,
      on(
        'order OpeningAsked',
        does(`the seller names a ${pick('fresh', 'fresh', 'fresh', 'small')} channel`, { much: 0 }),
        ...maybe(does('the buyer keeps probes', { much: [2000, 9000] })),
      ),
      on(
        when,
        ...maybe(does(pick('channel-watcher is down', 'settlement is down', 'order is down'), { at: [0, 20] })),
        does(pick('the seller attests', 'the seller attests falsely'), { at: [0, 60] }),
      ),
      on('channel FundingSeen', ...maybe(does('the funding is forgotten', { at: [0, 300], much: [500, 1600] }))),
    ],
  }
}

/** A second outpoint is named for one order, and time passes while it is looked at. */
export function changesOfMind({ on, does, pick, maybe, opens }: Tools): Scene {
  const again = pick(
    'the seller names a fresh channel',
    'the seller names a small channel',
    'the seller names what is nowhere',
    "the seller names another's channel",
  )
  return {
    cues: [
      ...maybe(...opens(`the seller names a ${pick(...NAMINGS)} channel`, {})),
      on('order OutpointNamed', ...maybe(does('order is down', { at: 0, much: [500, 2000] })), does(again, { at: [0, 150] })),
      nth(
        on(
          `order ${pick('OutpointClaimed', 'OutpointClaimed', 'OutpointOffered')}`,
          does(pick('settlement is down', 'settlement is down', 'channel-watcher is down'), { at: 0, much: [1500, 4000] }),
          does('blocks are mined', { at: [50, 400], much: [1, 4] }),
          ...maybe(does('the last height comes', { at: [500, 900], much: [-1, 1] })),
          ...maybe(does('the operator closes the order', { at: [0, 800] })),
        ),
        2,
      ),
      nth(on('order OutpointNamed', ...maybe(does('the seller goes back to an outpoint'))), 2),
      nth(on('order OutpointClaimed', ...maybe(does('settlement is down', { at: 0 }), does('blocks are mined'))), 3),
    ],
  }
}

/** The watch stands still while the chain goes on to the last height, and settlement is ahead of it. */
export function nobodyWatches({ on, does, pick, maybe, opens, purchase }: Tools): Scene {
  const isPrivate = pick(true, false)
  return {
    purchases: [purchase({ options: { private: isPrivate, rails_cluster_only: false } })],
    cues: [
      ...(pick(true, false, false) ? opens() : []),
      on('channel FundingSeen', ...maybe(does('the funding is forgotten', { at: [0, 300], much: [500, 1600] }))),
      on(
        pick(...WATCHED),
        ...(pick(true, true, false) ? [does('channel-watcher is down', { at: [0, 80], much: [4000, 8000] })] : []),
        does('blocks are mined', { at: [100, 2200], much: [1, 8] }),
        ...maybe(does('the buyer is away', { at: 0, much: [3000, 8000] })),
        does('the last height comes', { at: [500, 3000], much: [-2, 2] }),
        ...maybe(does('a re-org', { at: [900, 3200], much: [1, 6] })),
      ),
    ],
  }
}

/** The operator, the buyer or the node ends it at any moment, and somebody hears of it late. */
export function operatorSteps({ on, does, pick, maybe, opens }: Tools): Scene {
  const when = pick(
    ...WATCHED,
    'order OrderPlaced',
    'order HoldIssued',
    'order PaymentHeld',
    'order AttemptStarted',
    'order OpeningAsked',
    'order OutpointOffered',
    'order OutpointClaimed',
    'order OutpointNamed',
    'order ChannelOpened',
    'match SearchBegun',
    'match Matched',
    'settlement HoldRequested',
    'settlement HoldHeld',
    'settlement OutpointNoted',
    'settlement SettleAsked',
    'settlement SettleRequested',
    'settlement CancelRequested',
  )
  const ends = pick(
    'the operator closes the order',
    'the operator closes the order',
    'the node cancels the hold',
    'the buyer cancels',
  )
  const down = pick('order is down', 'matching is down', 'settlement is down', 'channel-watcher is down')
  return {
    cues: [
      ...(pick(true, false, false)
        ? opens(
            pick('the seller names what is nowhere', 'the seller names a fresh channel', 'the seller names a small channel'),
            {},
          )
        : []),
      on('order PaymentHeld', ...maybe(does('the buyer keeps probes', { at: 0, much: [5000, 9000] }))),
      on(
        when,
        ...maybe(does(down, { at: 0 })),
        does(ends, { at: pick([0, 0], [0, 20], [0, 500]) }),
        ...maybe(does(ends, { at: [0, 900] })),
      ),
      on(
        `settlement ${pick('CancelRequested', 'HoldCancelled')}`,
        ...maybe(does('blocks are mined', { at: 0, much: [1, 12] })),
        ...maybe(does('the channel is closed', { at: [0, 20] })),
        ...maybe(does('the buyer pays again', { at: [0, 30] })),
        ...maybe(does('the seller gives an invoice', { at: [0, 30] })),
      ),
    ],
  }
}

/** A funding that is seen and finds no block until it is given up, and then does. */
export function lostInFees({ on, does, pick, maybe, opens }: Tools): Scene {
  return {
    cues: [
      ...maybe(...opens('the seller names a fresh channel', {})),
      on(
        pick('channel FundingSeen', 'channel WatchStarted'),
        ...maybe(does('order is down', { at: [0, 60], much: [5000, 8000] })),
        does('blocks get dear', { at: 0, much: [900, 1800] }),
        does('blocks are mined', { at: [100, 600], much: [12, 24] }),
        ...maybe(does('the seller attests', { at: [0, 700] })),
        does('blocks are mined', { at: [2000, 2600], much: [1, 8] }),
        ...maybe(does('the last height comes', { at: [3000, 3600], much: [-3, 1] })),
        ...maybe(does('a re-org', { at: [3600, 4000], much: [1, 7] })),
      ),
      on(
        'channel FundingLost',
        ...maybe(does(pick('the seller names a fresh channel', 'the operator closes the order'), { at: [0, 40] })),
      ),
    ],
  }
}

/** The seller spends the coins of a funding that no block has taken yet. */
export function spentElsewhere({ on, does, pick, maybe, opens, dear }: Tools): Scene {
  return {
    cues: [
      ...maybe(...opens('the seller names a fresh channel', {})),
      on(
        pick('channel FundingSeen', 'channel FundingSeen', 'channel WatchStarted', 'order OutpointNamed'),
        dear(),
        ...maybe(does(pick('order is down', 'channel-watcher is down', 'settlement is down'), { at: [0, 60] })),
        does('the funding is evicted', { at: [0, 900] }),
        ...maybe(does(pick('the seller names a fresh channel', 'the seller attests'), { at: [0, 1500] })),
        ...maybe(does('blocks are mined', { at: [500, 2000], much: [1, 4] })),
        ...maybe(does('the last height comes', { at: [2000, 3000], much: [-3, 1] })),
      ),
      on(
        'channel FundingLost',
        ...maybe(does(pick('the seller names a fresh channel', 'the operator closes the order'), { at: [0, 40] })),
      ),
    ],
  }
}

/** The funding confirms in the very last blocks, and a re-org takes it out again. */
export function lastMoment({ on, does, pick, maybe, purchase }: Tools): Scene {
  return {
    purchases: [purchase({ options: { private: pick(true, false), rails_cluster_only: false } })],
    cues: [
      on('order AttemptStarted', ...maybe(does('the buyer keeps probes', { at: 0, much: [6000, 9000] }))),
      on(
        pick('channel FundingSeen', 'channel FundingSeen', 'channel WatchStarted'),
        does('channel-watcher is down', { at: [0, 40], much: [1200, 2000] }),
        does('blocks get dear', { at: 0, much: [700, 1100] }),
        does('the last height comes', { at: [150, 400], much: [-12, -4] }),
        does(pick('a re-org', 'a re-org', 'the buyer is away'), { at: [2000, 4500], much: [2, 7] }),
      ),
      on(
        pick('channel FundingConfirmed', 'channel ConfirmationsReached'),
        ...maybe(does('a re-org', { at: [0, 400], much: [2, 6] })),
      ),
    ],
  }
}
