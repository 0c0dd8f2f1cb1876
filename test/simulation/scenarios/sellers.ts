import { onNth, type Scenario, sellersWith, type ScenarioTools, WATCH_FACTS } from './scenario-tools.ts'

/** A seller opens a channel after its attempt has failed, before or after the start of the next attempt. */
export function lateOutpointOfFailedSeller({ onFact, inject, pick, maybe, agentAway }: ScenarioTools): Scenario {
  const reserve = 'match ReservationRenewalRequested'
  const lateChannel = pick('fresh', 'fresh', 'fresh', 'small')
  return {
    triggers: [
      ...agentAway,
      onFact('order ChannelOpenRequested', ...maybe(inject(pick('the seller gives up', 'the seller cannot reach the buyer')))),
      onFact(
        'order AttemptFailed',
        ...maybe(inject(pick('matching is down', 'order is down'), { at: [0, 20] })),
        ...maybe(inject(`the seller names a ${lateChannel} channel`, { at: [0, 40], amount: [0, 1] })),
        ...maybe(inject(pick('the offer is toggled', 'the offer is disabled', 'the seller loses its grant'))),
      ),
      onNth(onFact('order AttemptStarted', inject('the agent dies', { at: 0, amount: [6000, 9000] })), 2),
      onNth(
        onFact(
          `order ${pick('AttemptStarted', 'ChannelOpenRequested')}`,
          inject(`the seller names a ${lateChannel} channel`, { at: [0, 900], amount: [2, 3] }),
          ...maybe(inject('matching is down', { at: [0, 100] })),
        ),
        2,
      ),
      onFact(
        pick(reserve, reserve, 'match ReservationRenewed', 'order LateOutpointSubmitted'),
        ...maybe(
          inject(pick('the operator closes the order', 'the node cancels the hold', 'the offer is toggled'), { at: [0, 20] }),
        ),
        ...maybe(inject(pick('matching is down', 'order is down', 'settlement is down'), { at: 0 })),
        ...maybe(inject('the last height comes', { at: [0, 300], amount: [-1, 1] })),
      ),
      // While the order service is down, settlement settles the payment for the late channel.
      ...(pick(true, false)
        ? [
            onFact(
              'settlement OutpointRegistered',
              inject('order is down', { at: 0, amount: [1500, 2500] }),
              ...maybe(inject('the operator closes the order', { at: [30, 300] })),
              inject('blocks are mined', { at: [50, 200], amount: [1, 4] }),
              inject('the last height comes', { at: [500, 900], amount: [0, 1] }),
            ),
          ]
        : []),
    ],
  }
}

/** Offers change while orders run. In half of the plans they have less capacity than the orders need. */
export function offersChangeWhileScarce({ onFact, inject, pick, maybe, purchase, draws }: ScenarioTools): Scenario {
  const pickOfferChange = () =>
    pick(
      'the offer is toggled',
      'the offer is toggled',
      'the offer is disabled',
      'the offers are enabled',
      'the offer gets new terms',
    )
  const pickFact = () =>
    pick(
      'order HoldIssuedRecorded',
      'order PaymentHeld',
      'order AttemptStarted',
      'order ChannelOpenRequested',
      'order AttemptFailed',
      'order OutpointAccepted',
      'order SettlingStarted',
      'order OrderValid',
      'order ReleaseRequested',
      'order OrderPlaced',
      'match SearchBegun',
      'match Matched',
      'match CandidateLost',
    )
  const isScarce = pick(true, false)
  const agentDies = draws.chance(0.4)
  return {
    purchases: Array.from({ length: draws.between(1, 3) }, (_, index) => purchase({ atMs: 100 + 150 * index })),
    sellers: ['seller-ada', 'seller-bob', 'seller-cleo'].map((alias, index) => ({
      alias,
      acceptsAutomatically: index < 2 || draws.chance(0.5),
      answer: 'accepts' as const,
      isScarce,
    })),
    triggers: [
      onFact(pickFact(), inject(pickOfferChange()), ...maybe(inject(pickOfferChange(), { at: [100, 1500] }))),
      onFact(pickFact(), inject(pickOfferChange()), ...maybe(inject(pickOfferChange(), { at: [100, 1500] }))),
      onNth(onFact(pickFact(), inject(pickOfferChange())), 2),
      ...(agentDies ? [onFact('order AttemptStarted', inject('the agent dies', { at: 0, amount: [5000, 9000] }))] : []),
      onFact(
        pickFact(),
        ...maybe(inject(pick('matching is down', 'the operator closes the order', 'the node cancels the hold'))),
      ),
    ],
  }
}

/** Sellers become silent and return, and the operator grants and revokes their admission to the rails cluster. */
export function sellerFlaps({ onFact, inject, pick, purchase, draws }: ScenarioTools): Scenario {
  const pickGrant = () => pick('the seller is granted', 'the seller loses its grant')
  return {
    purchases: [purchase({ api: pick('manual', 'buy') }), purchase({ api: 'manual', atMs: 1200 })],
    sellers: sellersWith(pick('says nothing', 'rejects', 'accepts')),
    triggers: [
      onFact(
        'order OrderPlaced',
        inject('the agent dies', { at: [0, 600], amount: [9000, 14_000] }),
        inject(pickGrant(), { at: [0, 9500] }),
      ),
      onFact(
        draws.pick(['order HoldIssuedRecorded', 'order PaymentHeld', 'order SellerFailedToReact']),
        inject(pickGrant(), { at: [0, 9000] }),
      ),
      onFact('seller SellerFellSilent', inject(pickGrant()), inject(pickGrant(), { at: [200, 900] })),
    ],
  }
}

/** The routing fees of the channel exceed the caps that the seller promised. */
export const excessiveChannelFees = ({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario => ({
  triggers: [
    ...openManually('the seller names a dear channel', { amount: [0, 1] }),
    onFact('order OrderValid', ...maybe(inject(pick('a re-org', 'channel-watcher is down', 'the seller is away')))),
  ],
})

/** A re-organisation, a double spend or a close removes a channel at any step of its sale. */
export const channelLostAtAnyStep = ({ onFact, inject, pick, maybe }: ScenarioTools): Scenario => ({
  triggers: [
    onFact(
      pick(
        ...WATCH_FACTS,
        ...WATCH_FACTS,
        'settlement SettlementWanted',
        'settlement SettlementStarted',
        'settlement HoldSettled',
        'settlement PayoutRequested',
        'order OrderValid',
        'channel LeaseStarted',
        'order MonitoringFinished',
      ),
      ...maybe(inject(pick('order is down', 'channel-watcher is down', 'settlement is down'), { at: [0, 20] })),
      inject(
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
      ...maybe(inject('blocks are mined', { at: [0, 300], amount: [1, 3] })),
      ...maybe(inject(pick('the channel is closed', 'a re-org'), { at: [200, 1500] })),
    ),
    onFact(pick('order ChannelOpenRequested', 'order OutpointAccepted'), ...maybe(inject('the buyer keeps probes'))),
  ],
})
