import { onNth, type Scenario, sellersWith, type ScenarioTools } from './scenario-tools.ts'

/** An order waits for delayed reports of its channel watch, and the operator, the seller or the node acts meanwhile. */
export function orderStalls({ onFact, inject, pick, maybe, openManually, raiseFees, draws }: ScenarioTools): Scenario {
  const pickAction = () =>
    inject(
      pick(
        'the operator closes the order',
        'the operator closes the order',
        'the seller gives an invoice',
        'the seller attests',
        'the seller attests falsely',
        'the node cancels the hold',
      ),
      { at: [20, 300] },
    )
  const stalledAt = pick('order FundingSeenRecorded', 'order FundingConfirmedRecorded', 'order ChannelOpened')
  const delayWatch = inject('order hears the watch late', { at: 0, amount: [1500, 4000] })
  return {
    triggers: [
      ...(draws.chance(0.6) ? openManually() : []),
      onFact(
        'order OutpointAccepted',
        inject('settlement is asked late', { at: 0, amount: [1000, 6000] }),
        ...maybe(raiseFees()),
      ),
      onFact(stalledAt, delayWatch, pickAction(), ...maybe(pickAction())),
      onFact('channel FundingSeen', ...maybe(inject('the funding is forgotten', { at: [0, 300], amount: [500, 1600] }))),
      onFact(
        pick('channel FundingMissing', 'channel FundingSeen'),
        ...maybe(
          inject(pick('the operator closes the order', 'the seller attests falsely', 'the seller attests'), { at: [0, 60] }),
        ),
      ),
    ],
  }
}

/** A re-organisation removes a confirmed funding just before the last height, and the order learns of the removal later. */
export function fundingReorgedAtLastHeight({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario {
  const factType = pick('order FundingConfirmedRecorded', 'order ChannelOpened')
  return {
    triggers: [
      ...maybe(...openManually()),
      onFact('order OutpointAccepted', inject('settlement is asked late', { at: 0, amount: [4000, 8000] })),
      onFact(
        factType,
        inject('order hears the watch late', { at: 0, amount: [5000, 9000] }),
        inject('blocks get dear', { at: 0, amount: [3000, 5000] }),
        inject('a re-org', { at: [50, 300], amount: [5, 7] }),
        inject('the last height comes', { at: [400, 900], amount: [0, 1] }),
        ...maybe(inject('the buyer is away', { at: 0, amount: 2000 })),
      ),
    ],
  }
}

/** The operator closes the order during the search for a seller, and settlement receives the cancellation late. */
export const closedDuringSearch = ({ onFact, inject, pick, maybe }: ScenarioTools): Scenario => ({
  triggers: [
    onFact(
      pick('order PaymentHeld', 'order PaymentHeld', 'match SearchBegun'),
      inject('settlement is asked late', { at: 0, amount: [500, 2500] }),
      ...maybe(
        inject(pick('matching is asked late', 'offers answer late', 'order hears matching late'), { at: 0, amount: [100, 1200] }),
      ),
      inject('the operator closes the order', { at: [0, 30] }),
    ),
  ],
})

/** The only available seller cancels its attempt, and then submits an outpoint. */
export function onlySellerGivesUp({ onFact, inject, pick, maybe, agentAway }: ScenarioTools): Scenario {
  const silent = { acceptsAutomatically: false, answer: 'says nothing', isScarce: false } as const
  const isRefused = pick(true, false)
  return {
    sellers: [
      { alias: 'seller-ada', acceptsAutomatically: true, answer: 'accepts', isScarce: false },
      { alias: 'seller-bob', ...silent },
      { alias: 'seller-cleo', ...silent },
    ],
    triggers: [
      ...agentAway,
      onFact(
        'order ChannelOpenRequested',
        inject(pick('the seller gives up', 'the seller gives up', 'the seller cannot reach the buyer')),
      ),
      onFact(
        'order AttemptFailed',
        inject(pick('order hears matching late', 'matching is asked late', 'offers answer late'), { at: 0, amount: [200, 1200] }),
        inject('the seller names a fresh channel', { at: [0, 20], amount: 0 }),
        ...(isRefused ? [inject('the offer is disabled', { at: 0 })] : []),
      ),
      onFact(
        'order LateOutpointSubmitted',
        ...maybe(inject('order hears matching late', { at: 0, amount: [500, 2000] })),
        ...maybe(inject('the operator closes the order', { at: [0, 300] })),
        ...maybe(inject('settlement is asked late', { at: [0, 200], amount: [500, 2000] })),
      ),
    ],
  }
}

/** Several orders compete for the last capacity of each offer at the same moment. */
export function lastCapacityContested({ onFact, inject, pick, purchase, maybe, draws }: ScenarioTools): Scenario {
  const usdCents = draws.between(3200, 5500)
  const api = pick('lsps1', 'manual', 'lsps1')
  return {
    purchases: [
      purchase({ api, usdCents }),
      purchase({ api, usdCents, atMs: 110, buyer: 'buyer-2' }),
      purchase({ api, usdCents, atMs: 120 }),
    ],
    sellers: ['seller-ada', 'seller-bob', 'seller-cleo'].map((alias) => ({
      alias,
      acceptsAutomatically: true,
      answer: 'accepts' as const,
      isScarce: true,
    })),
    triggers: [
      onFact('order PaymentHeld', inject('matching is down', { at: 0, amount: [300, 900] })),
      onFact('match SearchBegun', ...maybe(inject('the offer gets new terms'))),
    ],
  }
}

/** The operator closes an order while its hold invoice is being created, with slow calls. */
export const withdrawnWhileInvoiceIsIssued = ({ onFact, inject, pick, maybe, purchase }: ScenarioTools): Scenario => ({
  purchases: [purchase({ atMs: 100 }), purchase({ atMs: 400, api: 'manual' }), purchase({ atMs: 700 })],
  faults: { slow: pick(0.02, 0.06, 0.12) },
  triggers: [1, 2, 3].map((number) =>
    onNth(
      onFact(
        `settlement ${pick('HoldRequested', 'HoldRequested', 'HoldIssued')}`,
        inject('the operator closes the order', { at: [0, 120] }),
        ...maybe(inject('the buyer is away', { at: 0, amount: [50, 600] })),
      ),
      number,
    ),
  ),
})

/** The channel-watcher is down after it reported the funding as missing, and settlement proves the funding at the last height. */
export const watcherLosesFunding = ({ onFact, inject, maybe, openManually, raiseFees }: ScenarioTools): Scenario => ({
  triggers: [
    ...maybe(...openManually()),
    onFact(
      'channel FundingSeen',
      inject('the funding is forgotten', { at: [0, 300], amount: [600, 1200] }),
      ...maybe(raiseFees()),
    ),
    onFact(
      'channel FundingMissing',
      inject('channel-watcher is down', { at: [0, 40], amount: [3000, 6000] }),
      inject('blocks are mined', { at: [1200, 1700], amount: [2, 6] }),
      inject('the last height comes', { at: [1800, 2600], amount: [0, 1] }),
    ),
  ],
})

/**
 * The replica that accepted the outpoint freezes before it requests the channel watch. The second replica first receives the end
 * of the hold.
 */
export const releasedBeforeWatchStarts = ({ onFact, inject, pick, purchase }: ScenarioTools): Scenario => ({
  purchases: [100, 150, 250].map((atMs) => purchase({ atMs })),
  // Query faults delay other triggers, such as recovery, that would run the process of this stream.
  faults: { queryFault: pick(0, 0.1, 0.3) },
  triggers: [
    onFact(
      'order OutpointAccepted',
      inject('one of order stands still, the other dies', { at: 0, amount: [700, 1300] }),
      inject('the node cancels the hold', { at: [0, 20] }),
    ),
  ],
})

/**
 * The operator closes the order, and its reservation is released. Settlement learns of the close only after the last height, at
 * which it settles the payment.
 */
export const settledAfterOperatorCloses = ({ onFact, inject, pick, maybe, agentAway }: ScenarioTools): Scenario => ({
  sellers: sellersWith('says nothing'),
  triggers: [
    ...agentAway,
    onFact('order ChannelOpenRequested', inject('the seller gives up', { at: [0, 40] })),
    onFact('order AttemptFailed', inject('the seller names a fresh channel', { at: [0, 20], amount: 0 })),
    onFact(
      'settlement OutpointRegistered',
      inject('settlement is asked late', { at: 0, amount: [4000, 6000] }),
      inject('the operator closes the order', { at: [0, 20] }),
      inject('order hears settlement late', { at: 0, amount: [100, 500] }),
      inject('the last height comes', { at: [1200, 2000], amount: [0, 1] }),
      ...maybe(inject(pick('matching is asked late', 'a re-org'), { at: [0, 500], amount: [1, 5] })),
    ),
  ],
})
