import { nth, type Scene, sellersWith, type Tools } from './scene-tools.ts'

/** An order stands in the middle of its way, since nobody hears how it goes on, and somebody acts on it. */
export function lingering({ on, does, pick, maybe, opens, dear, draws }: Tools): Scene {
  const deed = () =>
    does(
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
  const where = pick('order FundingSeen', 'order FundingConfirmed', 'order ChannelOpened')
  const unheard = does('order hears the watch late', { at: 0, much: [1500, 4000] })
  return {
    cues: [
      ...(draws.chance(0.6) ? opens() : []),
      on('order OutpointNamed', does('settlement is asked late', { at: 0, much: [1000, 6000] }), ...maybe(dear())),
      on(where, unheard, deed(), ...maybe(deed())),
      on('channel FundingSeen', ...maybe(does('the funding is forgotten', { at: [0, 300], much: [500, 1600] }))),
      on(
        pick('channel FundingMissing', 'channel FundingSeen'),
        ...maybe(
          does(pick('the operator closes the order', 'the seller attests falsely', 'the seller attests'), { at: [0, 60] }),
        ),
      ),
    ],
  }
}

/** What had its confirmations is thrown out of the chain at the last height, before the order has heard of it. */
export function tornOut({ on, does, pick, maybe, opens }: Tools): Scene {
  const when = pick('order FundingConfirmed', 'order ChannelOpened')
  return {
    cues: [
      ...maybe(...opens()),
      on('order OutpointNamed', does('settlement is asked late', { at: 0, much: [4000, 8000] })),
      on(
        when,
        does('order hears the watch late', { at: 0, much: [5000, 9000] }),
        does('blocks get dear', { at: 0, much: [3000, 5000] }),
        does('a re-org', { at: [50, 300], much: [5, 7] }),
        does('the last height comes', { at: [400, 900], much: [0, 1] }),
        ...maybe(does('the buyer is away', { at: 0, much: 2000 })),
      ),
    ],
  }
}

/** It is closed while a seller is looked for, and the money takes its time on the way back. */
export const closedEarly = ({ on, does, pick, maybe }: Tools): Scene => ({
  cues: [
    on(
      pick('order PaymentHeld', 'order PaymentHeld', 'match SearchBegun'),
      does('settlement is asked late', { at: 0, much: [500, 2500] }),
      ...maybe(
        does(pick('matching is asked late', 'offers answer late', 'order hears matching late'), { at: 0, much: [100, 1200] }),
      ),
      does('the operator closes the order', { at: [0, 30] }),
    ),
  ],
})

/** There is one seller, who gives up and names its funding nevertheless. */
export function onlySeller({ on, does, pick, maybe, byHand }: Tools): Scene {
  const silent = { standing: false, answers: 'says nothing', isScarce: false } as const
  const isRefused = pick(true, false)
  return {
    sellers: [
      { alias: 'seller-ada', standing: true, answers: 'accepts', isScarce: false },
      { alias: 'seller-bob', ...silent },
      { alias: 'seller-cleo', ...silent },
    ],
    cues: [
      ...byHand,
      on('order OpeningAsked', does(pick('the seller gives up', 'the seller gives up', 'the seller cannot reach the buyer'))),
      on(
        'order AttemptFailed',
        does(pick('order hears matching late', 'matching is asked late', 'offers answer late'), { at: 0, much: [200, 1200] }),
        does('the seller names a fresh channel', { at: [0, 20], much: 0 }),
        ...(isRefused ? [does('the offer is disabled', { at: 0 })] : []),
      ),
      on(
        'order LateOutpointOffered',
        ...maybe(does('order hears matching late', { at: 0, much: [500, 2000] })),
        ...maybe(does('the operator closes the order', { at: [0, 300] })),
        ...maybe(does('settlement is asked late', { at: [0, 200], much: [500, 2000] })),
      ),
    ],
  }
}

/** Two buyers want the last of what each offer has, in one moment. */
export function lastOfIt({ on, does, pick, purchase, maybe, draws }: Tools): Scene {
  const usdCents = draws.between(3200, 5500)
  const by = pick('lsps1', 'manual', 'lsps1')
  return {
    purchases: [
      purchase({ by, usdCents }),
      purchase({ by, usdCents, atMs: 110, buyer: 'buyer-2' }),
      purchase({ by, usdCents, atMs: 120 }),
    ],
    sellers: ['seller-ada', 'seller-bob', 'seller-cleo'].map((alias) => ({
      alias,
      standing: true,
      answers: 'accepts' as const,
      isScarce: true,
    })),
    cues: [
      on('order PaymentHeld', does('matching is down', { at: 0, much: [300, 900] })),
      on('match SearchBegun', ...maybe(does('the offer gets new terms'))),
    ],
  }
}

/** An order is withdrawn while its invoice is being made, by a node that takes seconds for it. */
export const invoiceAfterAll = ({ on, does, pick, maybe, purchase }: Tools): Scene => ({
  purchases: [purchase({ atMs: 100 }), purchase({ atMs: 400, by: 'manual' }), purchase({ atMs: 700 })],
  faults: { slow: pick(0.02, 0.06, 0.12) },
  cues: [1, 2, 3].map((number) =>
    nth(
      on(
        `settlement ${pick('HoldRequested', 'HoldRequested', 'HoldIssued')}`,
        does('the operator closes the order', { at: [0, 120] }),
        ...maybe(does('the buyer is away', { at: 0, much: [50, 600] })),
      ),
      number,
    ),
  ),
})

/** The watch has lost sight of what settlement proves at the last height. */
export const outOfSight = ({ on, does, maybe, opens, dear }: Tools): Scene => ({
  cues: [
    ...maybe(...opens()),
    on('channel FundingSeen', does('the funding is forgotten', { at: [0, 300], much: [600, 1200] }), ...maybe(dear())),
    on(
      'channel FundingMissing',
      does('channel-watcher is down', { at: [0, 40], much: [3000, 6000] }),
      does('blocks are mined', { at: [1200, 1700], much: [2, 6] }),
      does('the last height comes', { at: [1800, 2600], much: [0, 1] }),
    ),
  ],
})

/** Whoever named the outpoint stands still before it asks for the watch; whoever begins then hears first that all is over. */
export const letGoFirst = ({ on, does, pick, purchase }: Tools): Scene => ({
  purchases: [100, 150, 250].map((atMs) => purchase({ atMs })),
  // So that its other beginnings come later.
  faults: { queryFault: pick(0, 0.1, 0.3) },
  cues: [
    on(
      'order OutpointNamed',
      does('one of order stands still, the other dies', { at: 0, much: [700, 1300] }),
      does('the node cancels the hold', { at: [0, 20] }),
    ),
  ],
})

/** It is closed, and its capacity given back, before settlement hears of that; at the last height the money is taken after all. */
export const takenAfterAll = ({ on, does, pick, maybe, byHand }: Tools): Scene => ({
  sellers: sellersWith('says nothing'),
  cues: [
    ...byHand,
    on('order OpeningAsked', does('the seller gives up', { at: [0, 40] })),
    on('order AttemptFailed', does('the seller names a fresh channel', { at: [0, 20], much: 0 })),
    on(
      'settlement OutpointNoted',
      does('settlement is asked late', { at: 0, much: [4000, 6000] }),
      does('the operator closes the order', { at: [0, 20] }),
      does('order hears settlement late', { at: 0, much: [100, 500] }),
      does('the last height comes', { at: [1200, 2000], much: [0, 1] }),
      ...maybe(does(pick('matching is asked late', 'a re-org'), { at: [0, 500], much: [1, 5] })),
    ),
  ],
})
