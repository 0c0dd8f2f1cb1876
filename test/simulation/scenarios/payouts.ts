import { onNth, SALE_FACTS, type Scenario, sellersWith, type ScenarioTools } from './scenario-tools.ts'

/** The seller submits one invoice for two orders of the same amount, or several invoices for one order. */
export function sameInvoiceTwice({ onFact, inject, pick, purchase, maybe, draws }: ScenarioTools): Scenario {
  const api = pick('buy', 'manual', 'manual')
  const basePurchase = purchase({ api, usdCents: draws.between(600, 2000) })
  const factTypes = [
    ...SALE_FACTS,
    'order MonitoringFinished',
    'order ReleaseRequested',
    'settlement HoldRequested',
    'settlement CancelRequested',
    'settlement SettlementWanted',
    'settlement SettlementStarted',
    'settlement HoldSettled',
    'settlement PayoutRequested',
    'settlement PayoutSucceeded',
    'settlement PayoutSucceeded',
    'settlement HoldCancelled',
  ]
  return {
    purchases: [basePurchase, { ...basePurchase, atMs: 700, buyer: pick('buyer', 'buyer-2') }],
    sellers: sellersWith(pick('accepts', 'accepts', 'says nothing')),
    triggers: [
      onFact(
        pick('order OrderPlaced', 'order HoldIssuedRecorded', 'order ChannelOpenRequested'),
        inject('the seller gives an invoice twice'),
      ),
      onNth(onFact(draws.pick(factTypes), inject('the seller gives an invoice twice', { at: [0, 60] })), 2),
      onFact(
        draws.pick(factTypes),
        inject('the seller gives an invoice', { at: [0, 60] }),
        ...maybe(inject('settlement is down', { at: 0 })),
      ),
      ...(draws.chance(0.4)
        ? [
            onFact(
              draws.pick(factTypes),
              inject(pick('the operator closes the order', 'the node cancels the hold', 'the buyer cancels')),
            ),
          ]
        : []),
    ],
  }
}

/** The order learns late that the payment is being settled or is settled, and sellers or the operator act before that. */
export function slowSettlement({ onFact, inject, pick, purchase, openManually, draws }: ScenarioTools): Scenario {
  const pickAction = () =>
    inject(
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
  const basePurchase = purchase()
  const number = pick(1, 2)
  const isSettled = draws.chance(0.4)
  return {
    purchases: number === 1 ? [basePurchase] : [basePurchase, { ...basePurchase, atMs: 600, buyer: 'buyer-2' }],
    triggers: [
      ...openManually(),
      onFact(
        'order HoldIssuedRecorded',
        inject('the seller gives an invoice twice'),
        inject('the seller gives an invoice twice', { at: [150, 300] }),
      ),
      onNth(onFact('order ChannelOpenRequested', inject('the seller names a fresh channel', { amount: 0 })), 2),
      onNth(
        onFact(
          'settlement SettlementStarted',
          ...(isSettled ? [] : [inject('the node is away', { at: 0, amount: [600, 2500] })]),
          inject('order hears settlement late', { at: 0, amount: [1500, 4000] }),
          ...(isSettled ? [] : [pickAction(), pickAction(), pickAction()]),
        ),
        number,
      ),
      onNth(onFact('settlement HoldSettled', ...(isSettled ? [pickAction(), pickAction(), pickAction()] : [])), number),
    ],
  }
}

/** The cancellation of the payment is slow, and the seller submits an invoice before it ends. */
export function slowCancellation({ onFact, inject, pick, purchase, maybe }: ScenarioTools): Scenario {
  const basePurchase = purchase()
  const number = pick(1, 2)
  const isDelayed = pick(true, false)
  const submitInvoice = () => inject(pick('the seller gives an invoice', 'the seller gives an invoice twice'), { at: [0, 80] })
  return {
    purchases: [basePurchase, { ...basePurchase, atMs: 500, buyer: 'buyer-2' }],
    triggers: [
      onFact(
        'order HoldIssuedRecorded',
        inject('the seller gives an invoice twice'),
        inject('the seller gives an invoice twice', { at: [150, 300] }),
      ),
      onNth(
        onFact(
          'settlement HoldHeld',
          ...(isDelayed
            ? [
                inject('the node is away', { at: [100, 200], amount: [800, 2500] }),
                inject('the last height comes', { at: [0, 90], amount: 1 }),
              ]
            : [
                inject('payment hashes are answered late', { at: 0, amount: [400, 1500] }),
                submitInvoice(),
                inject('the operator closes the order', { at: [100, 200] }),
              ]),
          ...maybe(inject('the agent dies', { at: 0, amount: [3000, 6000] })),
        ),
        number,
      ),
      onNth(
        onFact(
          'settlement CancelRequested',
          inject('the node is away', { at: 0, amount: [500, 2500] }),
          ...(isDelayed
            ? [inject('order hears settlement late', { at: 0, amount: [1000, 3000] }), submitInvoice(), submitInvoice()]
            : []),
        ),
        pick(1, number),
      ),
    ],
  }
}

/** A seller submits each of its invoices for two orders of the same amount, at many steps of both orders. */
export function oneInvoiceForTwoOrders({ onFact, inject, pick, purchase, draws }: ScenarioTools): Scenario {
  const api = pick('buy', 'buy', 'manual')
  const basePurchase = purchase({ api })
  const submitInvoiceTwice = () => inject('the seller gives an invoice twice', { at: [0, 40] })
  return {
    purchases: [basePurchase, { ...basePurchase, atMs: pick(300, 1500), buyer: pick('buyer', 'buyer-2') }],
    triggers: [
      onFact('order OrderPlaced', submitInvoiceTwice(), submitInvoiceTwice(), submitInvoiceTwice()),
      onFact('order HoldIssuedRecorded', submitInvoiceTwice(), submitInvoiceTwice(), submitInvoiceTwice()),
      ...[...SALE_FACTS, 'settlement HoldRequested', 'settlement HoldIssued']
        .filter(() => draws.chance(0.5))
        .map((step) => onNth(onFact(step, submitInvoiceTwice()), 2)),
      onNth(
        onFact(
          pick('order FundingSeenRecorded', 'order FundingConfirmedRecorded'),
          inject('order hears the watch late', { at: 0, amount: [300, 1200] }),
        ),
        2,
      ),
      onNth(onFact('order OutpointAccepted', inject('settlement is asked late', { at: 0, amount: [100, 3000] })), 2),
    ],
  }
}

/** A seller submits no payout invoice until its channel lease has ended. */
export function sellerWithoutInvoice({ onFact, inject, purchase, pick }: ScenarioTools): Scenario {
  const basePurchase = purchase()
  const submitInvoiceTwice = () => inject('the seller gives an invoice twice', { at: [0, 300] })
  return {
    workloadMs: 16_000,
    purchases: [basePurchase, { ...basePurchase, atMs: 3000, buyer: 'buyer-2' }],
    triggers: [
      onFact('order HoldIssuedRecorded', submitInvoiceTwice(), submitInvoiceTwice(), submitInvoiceTwice()),
      onNth(onFact('order AttemptStarted', inject('the agent dies', { at: 0, amount: 30_000 })), 2),
      onNth(onFact('order ChannelOpenRequested', inject('the seller names a fresh channel', { amount: 0 })), 2),
      onNth(onFact('order OrderValid', ...pick([submitInvoiceTwice()], [])), 2),
      onFact('order MonitoringFinished', submitInvoiceTwice()),
      onNth(onFact('order MonitoringFinished', submitInvoiceTwice()), 2),
    ],
  }
}

/** The seller's node, the market's node or settlement is down at the payout. */
export const payoutUnreachable = ({ onFact, inject, pick, maybe }: ScenarioTools): Scenario => ({
  triggers: [
    onFact(
      pick('order ChannelOpened', 'settlement HoldSettled', 'settlement PayoutReleased', 'settlement PayoutRequested'),
      inject(pick('the seller is away', 'the seller is away', 'the node is away', 'settlement is down'), {
        at: [0, 40],
        amount: [3000, 12_000],
      }),
      ...maybe(inject('a re-org', { at: [0, 900], amount: [4, 7] })),
    ),
    onFact('settlement PayoutFailed', ...maybe(inject('the seller gives an invoice'))),
  ],
})
