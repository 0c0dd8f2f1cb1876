import { nth, SALE, type Scene, sellersWith, type Tools } from './scene-tools.ts'

/** Two orders of one amount, and one invoice that is given for both; or more invoices than an order needs. */
export function twins({ on, does, pick, purchase, maybe, draws }: Tools): Scene {
  const by = pick('buy', 'manual', 'manual')
  const twin = purchase({ by, usdCents: draws.between(600, 2000) })
  const when = [
    ...SALE,
    'order MonitoringFinished',
    'order ReleaseRequested',
    'settlement HoldRequested',
    'settlement CancelRequested',
    'settlement SettleAsked',
    'settlement SettleRequested',
    'settlement HoldSettled',
    'settlement PayoutRequested',
    'settlement PayoutSucceeded',
    'settlement PayoutSucceeded',
    'settlement HoldCancelled',
  ]
  return {
    purchases: [twin, { ...twin, atMs: 700, buyer: pick('buyer', 'buyer-2') }],
    sellers: sellersWith(pick('accepts', 'accepts', 'says nothing')),
    cues: [
      on(pick('order OrderPlaced', 'order HoldIssued', 'order OpeningAsked'), does('the seller gives an invoice twice')),
      nth(on(draws.pick(when), does('the seller gives an invoice twice', { at: [0, 60] })), 2),
      on(draws.pick(when), does('the seller gives an invoice', { at: [0, 60] }), ...maybe(does('settlement is down', { at: 0 }))),
      ...(draws.chance(0.4)
        ? [on(draws.pick(when), does(pick('the operator closes the order', 'the node cancels the hold', 'the buyer cancels')))]
        : []),
    ],
  }
}

/** The money is being taken, or is taken, and whoever does not know it yet goes on as before. */
export function settlingSlowly({ on, does, pick, purchase, opens, draws }: Tools): Scene {
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
      ...opens(),
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

/** One seller's invoices are given for two orders of one amount, at every step of both. */
export function oneInvoiceForTwo({ on, does, pick, purchase, draws }: Tools): Scene {
  const by = pick('buy', 'buy', 'manual')
  const twin = purchase({ by })
  const twice = () => does('the seller gives an invoice twice', { at: [0, 40] })
  return {
    purchases: [twin, { ...twin, atMs: pick(300, 1500), buyer: pick('buyer', 'buyer-2') }],
    cues: [
      on('order OrderPlaced', twice(), twice(), twice()),
      on('order HoldIssued', twice(), twice(), twice()),
      ...[...SALE, 'settlement HoldRequested', 'settlement HoldIssued']
        .filter(() => draws.chance(0.5))
        .map((step) => nth(on(step, twice()), 2)),
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

/** The seller cannot be paid for a while. */
export const quietEnd = ({ on, does, pick, maybe }: Tools): Scene => ({
  cues: [
    on(
      pick('order ChannelOpened', 'settlement HoldSettled', 'settlement PayoutReleased', 'settlement PayoutRequested'),
      does(pick('the seller is away', 'the seller is away', 'the node is away', 'settlement is down'), {
        at: [0, 40],
        much: [3000, 12_000],
      }),
      ...maybe(does('a re-org', { at: [0, 900], much: [4, 7] })),
    ),
    on('settlement PayoutFailed', ...maybe(does('the seller gives an invoice'))),
  ],
})
