import { onNth, type Scenario, sellersWith, type ScenarioTools } from './scenario-tools.ts'

/** Services are down until too few blocks are left before the last height of the payment. */
export function blocksRunOut({ onFact, inject, pick, maybe }: ScenarioTools): Scenario {
  return {
    triggers: [
      onFact(
        pick(
          'order PaymentHeld',
          'order AttemptStarted',
          'order ChannelOpenRequested',
          'order OutpointSubmitted',
          'order OutpointAccepted',
        ),
        inject(pick('matching is down', 'order is down', 'settlement is down', 'channel-watcher is down'), {
          at: 0,
          amount: [2000, 8000],
        }),
        inject('the last height comes', { at: [50, 600], amount: [-2, 14] }),
        ...maybe(inject('the agent dies', { at: 0 })),
      ),
    ],
  }
}

/** The payment arrives just after the invoice was cancelled or expired, and calls to the node often fail. */
export function latePayment({ onFact, inject, pick, purchase, maybe, draws }: ScenarioTools): Scenario {
  return {
    workloadMs: pick(8000, 18_000),
    purchases: [purchase({ afterwards: pick('leave', 'leave', 'pay at the last moment', 'cancel', 'pay and cancel') })],
    faults: { lightningFault: pick(0.1, 0.3), lightningUnknown: pick(0, 0.2), watchSilent: 0.02 },
    triggers: [
      onFact(
        `settlement ${pick('CancelRequested', 'CancelRequested', 'HoldIssued', 'HoldRequested')}`,
        inject('the buyer pays again', { at: [0, 30] }),
        ...maybe(inject('the buyer pays again', { at: [30, 400] })),
        ...maybe(inject('settlement is down', { at: [0, 40], amount: [200, 2000] })),
      ),
      ...(draws.chance(0.3)
        ? [onFact(`order ${pick('OrderPlaced', 'HoldIssuedRecorded')}`, inject('the operator closes the order', { at: [0, 40] }))]
        : []),
    ],
  }
}

/** The payment arrives while settlement cancels the expired invoice, and settlement records the payment only afterwards. */
export const paymentWhileInvoiceExpires = ({ onFact, inject, purchase }: ScenarioTools): Scenario => ({
  workloadMs: 18_000,
  // The clocks of settlement are fast, so settlement cancels the invoice while the node still accepts a payment.
  skewMs: { 'settlement.1': 1200, 'settlement.2': 1200 },
  purchases: [purchase({ afterwards: 'leave' }), purchase({ afterwards: 'leave', atMs: 2600, buyer: 'buyer-2' })],
  triggers: [1, 2].map((number) =>
    onNth(
      onFact(
        'settlement CancelRequested',
        inject('settlement stands still', { at: 0, amount: [300, 800] }),
        inject('the buyer pays again', { at: [3, 60] }),
      ),
      number,
    ),
  ),
})

/** A seller that has to approve the order rejects it or does not answer, or the buyer cancels before the answer. */
export function sellerApproval({ onFact, inject, pick, purchase, maybe, draws }: ScenarioTools): Scenario {
  return {
    purchases: [purchase({ api: 'manual' }), purchase({ api: 'manual', atMs: 900, buyer: 'buyer-2' })],
    sellers: sellersWith(pick('rejects', 'says nothing', 'accepts')),
    triggers: [
      onFact(
        'order OrderPlaced',
        ...maybe(
          inject(pick('the seller rejects', 'the seller gives an invoice', 'the operator closes the order'), { at: [0, 900] }),
        ),
        ...maybe(inject(pick('order is down', 'settlement is down', 'the seller is away'), { at: 0 })),
      ),
      onNth(onFact('order OrderPlaced', ...maybe(inject(pick('the seller rejects', 'the buyer cancels'), { at: [0, 900] }))), 2),
      ...(draws.chance(0.5) ? [onFact('order SellerAccepted', inject('the operator closes the order', { at: [0, 60] }))] : []),
    ],
  }
}

/** Our node has no inbound capacity for a payment, or settlement is down. */
export const noInboundLiquidity = ({ onFact, inject, pick, purchase }: ScenarioTools): Scenario => ({
  network: pick('no inbound', 'no inbound', 'whole'),
  purchases: [purchase(), purchase({ api: pick('lsps1', 'manual', 'buy'), atMs: 600 })],
  triggers: [
    onFact(
      'order OrderPlaced',
      inject(pick('the buyer is away', 'order is down', 'settlement is down'), { at: [0, 5] }),
      inject(pick('the operator closes the order', 'the buyer cancels'), { at: [0, 300] }),
    ),
  ],
})

/**
 * A settlement has started, and the node is offline until too few blocks are left for it. A process that calls the node right
 * after its return finds the payment still held.
 */
export function settlementMissedWhileNodeAway({ onFact, inject, pick, maybe, draws }: ScenarioTools): Scenario {
  const awayMs = draws.between(1500, 4000)
  const isBackFirst = pick(true, true, false)
  return {
    triggers: [
      onFact(
        pick(
          'settlement SettlementStarted',
          'settlement SettlementStarted',
          'settlement SettlementWanted',
          'channel ConfirmationsReached',
        ),
        inject('the node is away', { at: 0, amount: awayMs }),
        ...(isBackFirst ? [inject('settlement is down', { at: [0, 5], amount: [awayMs - 200, awayMs + 300] })] : []),
        inject('the last height comes', { at: [20, 800], amount: pick([-1, 5], [8, 16], [11, 16]) }),
        ...maybe(inject('blocks are mined', { at: [800, 1400], amount: [8, 12] })),
        ...maybe(inject(pick('a re-org', 'the buyer is away', 'the seller is away'), { at: [800, 3000] })),
      ),
    ],
  }
}
