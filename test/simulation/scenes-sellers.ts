import { nth, type Scene, sellersWith, type Tools, WATCHED } from './scene-tools.ts'

/** A seller that had lost its turn opens after all, before or after another has it. */
export function lateSeller({ on, does, pick, maybe, byHand }: Tools): Scene {
  const reserve = 'match RereservationAsked'
  const late = pick('fresh', 'fresh', 'fresh', 'small')
  return {
    cues: [
      ...byHand,
      on('order OpeningAsked', ...maybe(does(pick('the seller gives up', 'the seller cannot reach the buyer')))),
      on(
        'order AttemptFailed',
        ...maybe(does(pick('matching is down', 'order is down'), { at: [0, 20] })),
        ...maybe(does(`the seller names a ${late} channel`, { at: [0, 40], much: [0, 1] })),
        ...maybe(does(pick('the offer is toggled', 'the offer is disabled', 'the seller loses its grant'))),
      ),
      nth(on('order AttemptStarted', does('the agent dies', { at: 0, much: [6000, 9000] })), 2),
      nth(
        on(
          `order ${pick('AttemptStarted', 'OpeningAsked')}`,
          does(`the seller names a ${late} channel`, { at: [0, 900], much: [2, 3] }),
          ...maybe(does('matching is down', { at: [0, 100] })),
        ),
        2,
      ),
      on(
        pick(reserve, reserve, 'match Rereserved', 'order LateOutpointOffered'),
        ...maybe(
          does(pick('the operator closes the order', 'the node cancels the hold', 'the offer is toggled'), { at: [0, 20] }),
        ),
        ...maybe(does(pick('matching is down', 'order is down', 'settlement is down'), { at: 0 })),
        ...maybe(does('the last height comes', { at: [0, 300], much: [-1, 1] })),
      ),
      // Settlement takes the money for what the order was about to refuse.
      ...(pick(true, false)
        ? [
            on(
              'settlement OutpointNoted',
              does('order is down', { at: 0, much: [1500, 2500] }),
              ...maybe(does('the operator closes the order', { at: [30, 300] })),
              does('blocks are mined', { at: [50, 200], much: [1, 4] }),
              does('the last height comes', { at: [500, 900], much: [0, 1] }),
            ),
          ]
        : []),
    ],
  }
}

/** There is less to sell than is wanted, and offers change while orders run. */
export function fullBook({ on, does, pick, maybe, purchase, draws }: Tools): Scene {
  const change = () =>
    pick(
      'the offer is toggled',
      'the offer is toggled',
      'the offer is disabled',
      'the offers are enabled',
      'the offer gets new terms',
    )
  const occasion = () =>
    pick(
      'order HoldIssued',
      'order PaymentHeld',
      'order AttemptStarted',
      'order OpeningAsked',
      'order AttemptFailed',
      'order OutpointNamed',
      'order SettlingStarted',
      'order OrderValid',
      'order ReleaseRequested',
      'order OrderPlaced',
      'match SearchBegun',
      'match Matched',
      'match CandidateLost',
    )
  const isScarce = pick(true, false)
  const dies = draws.chance(0.4)
  return {
    purchases: Array.from({ length: draws.between(1, 3) }, (_, index) => purchase({ atMs: 100 + 150 * index })),
    sellers: ['seller-ada', 'seller-bob', 'seller-cleo'].map((alias, index) => ({
      alias,
      standing: index < 2 || draws.chance(0.5),
      answers: 'accepts' as const,
      isScarce,
    })),
    cues: [
      on(occasion(), does(change()), ...maybe(does(change(), { at: [100, 1500] }))),
      on(occasion(), does(change()), ...maybe(does(change(), { at: [100, 1500] }))),
      nth(on(occasion(), does(change())), 2),
      ...(dies ? [on('order AttemptStarted', does('the agent dies', { at: 0, much: [5000, 9000] }))] : []),
      on(occasion(), ...maybe(does(pick('matching is down', 'the operator closes the order', 'the node cancels the hold')))),
    ],
  }
}

/** Sellers come and go in the eyes of the market: silence, grants, and offers of which no agent was ever heard. */
export function comingAndGoing({ on, does, pick, purchase, draws }: Tools): Scene {
  const granting = () => pick('the seller is granted', 'the seller loses its grant')
  return {
    purchases: [purchase({ by: pick('manual', 'buy') }), purchase({ by: 'manual', atMs: 1200 })],
    sellers: sellersWith(pick('says nothing', 'rejects', 'accepts')),
    cues: [
      on(
        'order OrderPlaced',
        does('the agent dies', { at: [0, 600], much: [9000, 14_000] }),
        does(granting(), { at: [0, 9500] }),
      ),
      on(draws.pick(['order HoldIssued', 'order PaymentHeld', 'order SellerFailedToReact']), does(granting(), { at: [0, 9000] })),
      on('seller SellerFellSilent', does(granting()), does(granting(), { at: [200, 900] })),
    ],
  }
}

/** The channel breaks what was promised for it. */
export const dearSeller = ({ on, does, pick, maybe, opens }: Tools): Scene => ({
  cues: [
    ...opens('the seller names a dear channel', { much: [0, 1] }),
    on('order OrderValid', ...maybe(does(pick('a re-org', 'channel-watcher is down', 'the seller is away')))),
  ],
})

/** What the chain takes back, or the seller, at each moment of a channel's life. */
export const brokenChannel = ({ on, does, pick, maybe }: Tools): Scene => ({
  cues: [
    on(
      pick(
        ...WATCHED,
        ...WATCHED,
        'settlement SettleAsked',
        'settlement SettleRequested',
        'settlement HoldSettled',
        'settlement PayoutRequested',
        'order OrderValid',
        'channel LeaseStarted',
        'order MonitoringFinished',
      ),
      ...maybe(does(pick('order is down', 'channel-watcher is down', 'settlement is down'), { at: [0, 20] })),
      does(
        pick(
          'a re-org',
          'a re-org',
          'a re-org with the same transactions',
          'the channel is closed',
          'the channel is closed',
          'the funding is evicted',
          'the funding is forgotten',
        ),
        { at: [0, 200] },
      ),
      ...maybe(does('blocks are mined', { at: [0, 300], much: [1, 3] })),
      ...maybe(does(pick('the channel is closed', 'a re-org'), { at: [200, 1500] })),
    ),
    on(pick('order OpeningAsked', 'order OutpointNamed'), ...maybe(does('the buyer keeps probes'))),
  ],
})
