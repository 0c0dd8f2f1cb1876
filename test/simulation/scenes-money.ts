import { nth, type Scene, sellersWith, type Tools } from './scene-tools.ts'

/** No time is left by the time somebody acts: services stand still while the payment's blocks pass. */
export function outOfBlocks({ on, does, pick, maybe }: Tools): Scene {
  return {
    cues: [
      on(
        pick('order PaymentHeld', 'order AttemptStarted', 'order OpeningAsked', 'order OutpointOffered', 'order OutpointNamed'),
        does(pick('matching is down', 'order is down', 'settlement is down', 'channel-watcher is down'), {
          at: 0,
          much: [2000, 8000],
        }),
        does('the last height comes', { at: [50, 600], much: [-2, 14] }),
        ...maybe(does('the agent dies', { at: 0 })),
      ),
    ],
  }
}

/** The payment comes when the invoice has just ended, to a node that answers badly. */
export function latePayer({ on, does, pick, purchase, maybe, draws }: Tools): Scene {
  return {
    busyMs: pick(8000, 18_000),
    purchases: [purchase({ then: pick('leave', 'leave', 'pay at the last moment', 'cancel', 'pay and cancel') })],
    faults: { lightningFault: pick(0.1, 0.3), lightningUnknown: pick(0, 0.2), watchSilent: 0.02 },
    cues: [
      on(
        `settlement ${pick('CancelRequested', 'CancelRequested', 'HoldIssued', 'HoldRequested')}`,
        does('the buyer pays again', { at: [0, 30] }),
        ...maybe(does('the buyer pays again', { at: [30, 400] })),
        ...maybe(does('settlement is down', { at: [0, 40], much: [200, 2000] })),
      ),
      ...(draws.chance(0.3)
        ? [on(`order ${pick('OrderPlaced', 'HoldIssued')}`, does('the operator closes the order', { at: [0, 40] }))]
        : []),
    ],
  }
}

/** The payment comes when its invoice is being ended, and whoever saw it tells of it when that is done. */
export const tooLate = ({ on, does, purchase }: Tools): Scene => ({
  busyMs: 18_000,
  // To the node it has not ended yet.
  skewMs: { 'settlement.1': 1200, 'settlement.2': 1200 },
  purchases: [purchase({ then: 'leave' }), purchase({ then: 'leave', atMs: 2600, buyer: 'buyer-2' })],
  cues: [1, 2].map((number) =>
    nth(
      on(
        'settlement CancelRequested',
        does('settlement stands still', { at: 0, much: [300, 800] }),
        does('the buyer pays again', { at: [3, 60] }),
      ),
      number,
    ),
  ),
})

/** Whoever is asked first says no, or nothing, or the buyer goes away meanwhile. */
export function approvals({ on, does, pick, purchase, maybe, draws }: Tools): Scene {
  return {
    purchases: [purchase({ by: 'manual' }), purchase({ by: 'manual', atMs: 900, buyer: 'buyer-2' })],
    sellers: sellersWith(pick('rejects', 'says nothing', 'accepts')),
    cues: [
      on(
        'order OrderPlaced',
        ...maybe(
          does(pick('the seller rejects', 'the seller gives an invoice', 'the operator closes the order'), { at: [0, 900] }),
        ),
        ...maybe(does(pick('order is down', 'settlement is down', 'the seller is away'), { at: 0 })),
      ),
      nth(on('order OrderPlaced', ...maybe(does(pick('the seller rejects', 'the buyer cancels'), { at: [0, 900] }))), 2),
      ...(draws.chance(0.5) ? [on('order SellerAccepted', does('the operator closes the order', { at: [0, 60] }))] : []),
    ],
  }
}

/** Our node has no room for a payment, or cannot be asked. */
export const shutDoor = ({ on, does, pick, purchase }: Tools): Scene => ({
  network: pick('no inbound', 'no inbound', 'whole'),
  purchases: [purchase(), purchase({ by: pick('lsps1', 'manual', 'buy'), atMs: 600 })],
  cues: [
    on(
      'order OrderPlaced',
      does(pick('the buyer is away', 'order is down', 'settlement is down'), { at: [0, 5] }),
      does(pick('the operator closes the order', 'the buyer cancels'), { at: [0, 300] }),
    ),
  ],
})

/**
 * The payment is to be taken, and its node is away until too few blocks are left for that, or none. Who asks it as soon as it
 * is back finds what it has not given back yet.
 */
export function missed({ on, does, pick, maybe, draws }: Tools): Scene {
  const awayMs = draws.between(1500, 4000)
  const isBackFirst = pick(true, true, false)
  return {
    cues: [
      on(
        pick(
          'settlement SettleRequested',
          'settlement SettleRequested',
          'settlement SettleAsked',
          'channel ConfirmationsReached',
        ),
        does('the node is away', { at: 0, much: awayMs }),
        ...(isBackFirst ? [does('settlement is down', { at: [0, 5], much: [awayMs - 200, awayMs + 300] })] : []),
        does('the last height comes', { at: [20, 800], much: pick([-1, 5], [8, 16], [11, 16]) }),
        ...maybe(does('blocks are mined', { at: [800, 1400], much: [8, 12] })),
        ...maybe(does(pick('a re-org', 'the buyer is away', 'the seller is away'), { at: [800, 3000] })),
      ),
    ],
  }
}
