import { nth, type Scene, type Tools } from './scene-tools.ts'

/** An order stands in the middle of its way, since nobody hears how it goes on, and somebody acts on it. */
export function lingering({ on, does, pick, maybe, byHand, draws }: Tools): Scene {
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
      ...(draws.chance(0.6) ? [...byHand, on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 }))] : []),
      on('order OutpointNamed', does('settlement is asked late', { at: 0, much: [1000, 6000] }), ...maybe(dear(does))),
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

const dear = (does: Tools['does']) => does('blocks get dear', { at: 0, much: [1000, 4000] })

/** A second outpoint is named before anybody has heard of the first, and is taken down when that has gone far. */
export function secondThoughts({ on, does, pick, maybe, byHand }: Tools): Scene {
  const again = pick('the seller names a fresh channel', 'the seller names a fresh channel', 'the seller names what is nowhere')
  const first = pick('fresh channel', 'fresh channel', 'fresh channel', 'small channel')
  const isUnheard = pick(true, false)
  const slow = pick('order hears settlement late', 'order hears settlement late', 'order hears of claims late')
  return {
    cues: [
      ...byHand,
      on('order OpeningAsked', does(pick(`the seller names a ${first}`, 'the seller names what is nowhere'), { much: 0 })),
      on(
        'order OutpointNamed',
        does('order hears the watch late', { at: 0, much: isUnheard ? [3000, 8000] : [200, 500] }),
        does(again, { at: isUnheard ? [0, 2000] : [0, 60], much: 0 }),
        ...(isUnheard ? maybe(does('blocks are mined', { at: [0, 500], much: [1, 12] })) : []),
        ...maybe(dear(does)),
      ),
      on('channel FundingSeen', ...maybe(does('the funding is forgotten', { at: [0, 300], much: [500, 1600] }))),
      on('order FundingConfirmed', ...maybe(does('settlement is asked late', { at: 0, much: [1500, 4000] }))),
      nth(
        on(
          `order ${slow === 'order hears of claims late' ? 'OutpointOffered' : 'OutpointClaimed'}`,
          ...(isUnheard ? [] : [does(slow, { at: 0, much: [300, 4000] })]),
        ),
        2,
      ),
      nth(on('order OutpointNamed', ...maybe(does('the seller goes back to an outpoint', { much: 0 }))), 2),
      on('channel FundingConfirmed', ...maybe(does('a re-org', { at: [0, 600], much: [1, 3] }))),
    ],
  }
}

/** What had its confirmations is thrown out of the chain at the last height, before the order has heard of it. */
export function tornOut({ on, does, pick, maybe, byHand }: Tools): Scene {
  const when = pick('order FundingConfirmed', 'order ChannelOpened')
  return {
    cues: [
      ...(pick(true, false) ? [...byHand, on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 }))] : []),
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

/** The money is being taken, or is taken, and whoever does not know it yet goes on as before. */
export function settlingSlowly({ on, does, pick, purchase, byHand, draws }: Tools): Scene {
  const deed = () =>
    does(
      pick(
        'the operator closes the order',
        'the seller gives an invoice',
        'the seller gives an invoice twice',
        'the seller gives an invoice twice',
        'the seller attests',
        'the seller attests falsely',
        'the seller attests',
      ),
      { at: [0, 200] },
    )
  const twin = purchase()
  const number = pick(1, 2)
  const isSettled = draws.chance(0.4)
  return {
    purchases: number === 1 ? [twin] : [twin, { ...twin, atMs: 600, buyer: 'buyer-2' }],
    cues: [
      ...byHand,
      on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 })),
      on(
        'order HoldIssued',
        does('the seller gives an invoice twice'),
        does('the seller gives an invoice twice', { at: [150, 300] }),
      ),
      nth(on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 })), 2),
      nth(
        on(
          'settlement SettleRequested',
          ...(isSettled ? [] : [does('the node is away', { at: 0, much: [600, 2500] })]),
          does('order hears settlement late', { at: 0, much: [1500, 4000] }),
          ...(isSettled ? [] : [deed(), deed(), deed()]),
        ),
        number,
      ),
      nth(on('settlement HoldSettled', ...(isSettled ? [deed(), deed(), deed()] : [])), number),
    ],
  }
}

/** The payment is on its way back, and the seller, who does not know it, gives an invoice. */
export function cancellingSlowly({ on, does, pick, purchase, maybe }: Tools): Scene {
  const twin = purchase()
  const number = pick(1, 2)
  const isUnheard = pick(true, false)
  const invoice = () => does(pick('the seller gives an invoice', 'the seller gives an invoice twice'), { at: [0, 80] })
  return {
    purchases: [twin, { ...twin, atMs: 500, buyer: 'buyer-2' }],
    cues: [
      on(
        'order HoldIssued',
        does('the seller gives an invoice twice'),
        does('the seller gives an invoice twice', { at: [150, 300] }),
      ),
      nth(
        on(
          'settlement HoldHeld',
          ...(isUnheard
            ? [
                does('the node is away', { at: [100, 200], much: [800, 2500] }),
                does('the last height comes', { at: [0, 90], much: 1 }),
              ]
            : [
                does('payment hashes are answered late', { at: 0, much: [400, 1500] }),
                invoice(),
                does('the operator closes the order', { at: [100, 200] }),
              ]),
          ...maybe(does('the agent dies', { at: 0, much: [3000, 6000] })),
        ),
        number,
      ),
      nth(
        on(
          'settlement CancelRequested',
          does('the node is away', { at: 0, much: [500, 2500] }),
          ...(isUnheard ? [does('order hears settlement late', { at: 0, much: [1000, 3000] }), invoice(), invoice()] : []),
        ),
        pick(1, number),
      ),
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

/** An attestation comes when the watch, or the whole order, has gone further than its seller knows. */
export function attestedLate({ on, does, pick, maybe, byHand }: Tools): Scene {
  const attests = pick('the seller attests', 'the seller attests falsely', 'the seller attests falsely')
  const when = pick(
    'order OutpointOffered',
    'order OutpointNamed',
    'channel FundingSeen',
    'channel FundingMissing',
    'channel FundingLost',
    'channel FundingLost',
    'channel ChannelWrong',
    'channel ChannelWrong',
    'channel ConfirmationsReached',
    'settlement SettleAsked',
    'settlement SettleAsked',
  )
  const first =
    when === 'channel ChannelWrong'
      ? 'the seller names a small channel'
      : when === 'channel FundingLost'
        ? 'the seller names what is nowhere'
        : 'the seller names a fresh channel'
  const isUnheard = when.startsWith('channel') || pick(true, false)
  return {
    cues: [
      ...byHand,
      on('order OpeningAsked', does(first, { much: 0 })),
      on(
        'order OutpointNamed',
        ...(isUnheard && when !== 'channel ConfirmationsReached'
          ? [does('order hears the watch late', { at: 0, much: [4000, 9000] })]
          : []),
        ...(when === 'channel FundingLost' ? [does('blocks are mined', { at: [100, 500], much: 12 })] : []),
        ...maybe(dear(does)),
      ),
      on(
        when,
        ...(when === 'settlement SettleAsked'
          ? [
              does('order hears settlement late', { at: 0, much: [800, 2500] }),
              does('order hears the watch late', { at: 0, much: [1500, 4000] }),
              does('settlement is asked late', { at: 0, much: [1500, 4000] }),
            ]
          : []),
        ...(when === 'order OutpointOffered' ? [does('settlement is asked late', { at: 0, much: [200, 900] })] : []),
        does(attests, { at: [0, 60] }),
      ),
      on(
        'channel FundingSeen',
        ...(when === 'channel FundingMissing' ? [does('the funding is forgotten', { at: [0, 300], much: [700, 1600] })] : []),
      ),
    ],
  }
}

/** A replica of order stands still with the attestation in hand, and the other one goes on without it. */
export const heldBack = ({ on, does, pick, byHand }: Tools): Scene => {
  const isEnded = pick(true, false)
  return {
    cues: [
      ...byHand,
      on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 })),
      on(
        isEnded ? pick('order OutpointNamed', 'order FundingSeen', 'order FundingConfirmed') : 'settlement SettleAsked',
        does(pick('the seller attests', 'the seller attests falsely'), { at: isEnded ? [0, 200] : [0, 5] }),
      ),
      on(
        'order AttestationGiven',
        does('a replica of order stands still', { at: 0, much: [1500, 5000] }),
        ...(isEnded ? [does('the node cancels the hold', { at: [0, 20] })] : []),
      ),
    ],
  }
}

/** The watch has lost sight of what settlement proves at the last height. */
export const outOfSight = ({ on, does, maybe, byHand, pick }: Tools): Scene => ({
  cues: [
    ...(pick(true, false) ? [...byHand, on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 }))] : []),
    on('channel FundingSeen', does('the funding is forgotten', { at: [0, 300], much: [600, 1200] }), ...maybe(dear(does))),
    on(
      'channel FundingMissing',
      does('channel-watcher is down', { at: [0, 40], much: [3000, 6000] }),
      does('blocks are mined', { at: [1200, 1700], much: [2, 6] }),
      does('the last height comes', { at: [1800, 2600], much: [0, 1] }),
    ),
  ],
})

/** One seller's invoices are given for two orders of one amount, at every step of both. */
export function oneInvoiceForTwo({ on, does, pick, purchase, draws }: Tools): Scene {
  const by = pick('buy', 'buy', 'manual')
  const twin = purchase({ by })
  const twice = () => does('the seller gives an invoice twice', { at: [0, 40] })
  const steps = [
    'order OrderPlaced',
    'order SellerAccepted',
    'order HoldIssued',
    'order PaymentHeld',
    'order AttemptStarted',
    'order OpeningAsked',
    'order OutpointNamed',
    'order FundingSeen',
    'order FundingConfirmed',
    'order ChannelOpened',
    'order SettlingStarted',
    'order OrderValid',
    'settlement HoldRequested',
    'settlement HoldIssued',
  ]
  return {
    purchases: [twin, { ...twin, atMs: pick(300, 1500), buyer: pick('buyer', 'buyer-2') }],
    cues: [
      on('order OrderPlaced', twice(), twice(), twice()),
      on('order HoldIssued', twice(), twice(), twice()),
      ...steps.filter(() => draws.chance(0.5)).map((step) => nth(on(step, twice()), 2)),
      nth(
        on(pick('order FundingSeen', 'order FundingConfirmed'), does('order hears the watch late', { at: 0, much: [300, 1200] })),
        2,
      ),
      nth(on('order OutpointNamed', does('settlement is asked late', { at: 0, much: [100, 3000] })), 2),
    ],
  }
}

/** A seller is not paid, since it has given nothing to be paid by, until its lease has ended. */
export function unpaid({ on, does, purchase, pick }: Tools): Scene {
  const twin = purchase()
  const twice = () => does('the seller gives an invoice twice', { at: [0, 300] })
  return {
    busyMs: 16_000,
    purchases: [twin, { ...twin, atMs: 3000, buyer: 'buyer-2' }],
    cues: [
      on('order HoldIssued', twice(), twice(), twice()),
      nth(on('order AttemptStarted', does('the agent dies', { at: 0, much: 30_000 })), 2),
      nth(on('order OpeningAsked', does('the seller names a fresh channel', { much: 0 })), 2),
      nth(on('order OrderValid', ...pick([twice()], [])), 2),
      on('order MonitoringFinished', twice()),
      nth(on('order MonitoringFinished', twice()), 2),
    ],
  }
}
