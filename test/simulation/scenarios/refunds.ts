import { onNth, type Scenario, type ScenarioTools } from './scenario-tools.ts'

/** The range of blocks to mine, after which a withheld payout reaches its end height. */
const WITHHELD_BLOCKS = [11, 14] as const

/** A double spend replaces the funding of a sold channel, so the buyer gets a refund at the end height of the withholding. */
export const soldFundingDoubleSpent = ({ onFact, inject, pick, maybe, purchase, openManually }: ScenarioTools): Scenario => ({
  workloadMs: 16_000,
  purchases: [purchase(), ...(pick(true, false) ? [purchase({ atMs: 900, buyer: pick('buyer', 'buyer-2') })] : [])],
  triggers: [
    ...maybe(...openManually()),
    onFact(
      pick('settlement HoldSettled', 'settlement HoldSettled', 'settlement SettlementStarted'),
      inject('the sale is undone'),
    ),
    onFact(
      'settlement PayoutWithheld',
      ...maybe(inject('the seller gives an invoice')),
      ...maybe(inject('the operator decides a payout', { amount: [0, 2] })),
      ...maybe(inject(pick('settlement is down', 'the node is away', 'the buyer is away'), { at: [300, 900] })),
      inject('blocks are mined', { at: [500, 1200], amount: WITHHELD_BLOCKS }),
    ),
    onFact(
      'settlement PayableClosed',
      ...maybe(inject(pick('the seller gives an invoice', 'the operator retries a payout', 'the operator decides a payout'))),
      inject('the buyer asks for its money', { at: [50, 600], amount: pick(0, 1) }),
      ...maybe(inject('the buyer asks for its money', { at: [50, 900], amount: 1 })),
    ),
    onFact(
      'settlement PayoutFailed',
      ...maybe(inject('the operator retries a payout', { at: [0, 400] })),
      ...maybe(inject('the buyer asks for its money', { at: [0, 900], amount: 1 })),
    ),
  ],
})

/** A closed channel or a false attestation withholds the payout. The operator decides about it, sometimes twice at once. */
export const operatorDecidesPayout = ({ onFact, inject, pick, maybe, purchase, openManually }: ScenarioTools): Scenario => {
  const decidePayout = () => inject('the operator decides a payout', { at: [0, 40], amount: pick(0, 1, 1, 2) })
  const breakPromise = () =>
    inject(pick('the channel is closed', 'the channel is closed', 'the seller attests falsely'), { at: [0, 60] })
  return {
    workloadMs: 16_000,
    purchases: [purchase({ options: { private: pick(true, false), rails_cluster_only: false } })],
    triggers: [
      ...maybe(...openManually()),
      onFact('settlement HoldSettled', breakPromise()),
      onFact(
        'settlement PayoutWithheld',
        ...maybe(decidePayout()),
        inject('blocks are mined', { at: [300, 900], amount: WITHHELD_BLOCKS }),
        inject('the operator decides a payout', { at: [1200, 1900], amount: pick(0, 1, 1, 2) }),
        ...maybe(inject('the operator decides a payout', { at: [1200, 1900], amount: pick(0, 1, 2) })),
      ),
      onFact(
        'settlement PayoutDecided',
        ...maybe(decidePayout()),
        ...maybe(inject(pick('settlement is down', 'the node is away', 'the sale is undone', 'a re-org'), { at: [0, 300] })),
        ...maybe(inject('the buyer asks for its money', { at: [0, 300], amount: pick(0, 1) })),
      ),
      onFact(
        'settlement PayableClosed',
        ...maybe(inject('the buyer asks for its money', { at: [100, 900], amount: pick(0, 1) })),
      ),
      onFact('settlement PayoutFailed', ...maybe(inject('the operator retries a payout', { at: [0, 400] }))),
    ],
  }
}

/** The operator closes an order whose channel is open, and decides about the loss while a re-organisation is still possible. */
export const lossBorneThenRefuted = ({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario => ({
  workloadMs: 14_000,
  triggers: [
    ...maybe(...openManually()),
    onFact(
      pick('order OutpointAccepted', 'order FundingSeenRecorded', 'order FundingConfirmedRecorded'),
      inject('order hears the watch late', { at: 0, amount: [1500, 4000] }),
      inject('settlement is asked late', { at: 0, amount: [300, 900] }),
      inject('the operator closes the order', { at: [0, 200] }),
    ),
    onFact(
      'settlement LossBorne',
      inject('the operator decides a payout', { at: [0, 600], amount: pick(0, 1, 2, 2) }),
      ...maybe(inject('the operator decides a payout', { at: [0, 600], amount: pick(0, 2) })),
      ...maybe(inject(pick('a re-org', 'the channel is closed', 'settlement is down'), { at: [0, 400] })),
      ...maybe(inject('the seller gives an invoice', { at: [0, 900] })),
    ),
    onFact('settlement PayoutFailed', ...maybe(inject('the operator retries a payout', { at: [0, 400] }))),
  ],
})

/** The market cancels a payment although the channel is open, and the seller's node is offline at the payout of the loss. */
export const lossBornePayoutUnreachable = ({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario => ({
  workloadMs: 20_000,
  triggers: [
    ...maybe(...openManually()),
    onFact(
      pick('order FundingSeenRecorded', 'order FundingConfirmedRecorded'),
      inject('settlement is asked late', { at: 0, amount: [300, 900] }),
      inject('the operator closes the order', { at: [0, 200] }),
    ),
    onFact(
      'settlement LossSearchStarted',
      inject('the node is away', { at: 0, amount: [400, 1500] }),
      inject('the seller gives an invoice', { at: [0, 120] }),
      ...maybe(inject('the seller gives an invoice twice', { at: [0, 120] })),
    ),
    onFact(
      'settlement LossBorne',
      inject('the seller gives an invoice', { at: [0, 400] }),
      inject('the seller is away', { at: [0, 900], amount: [3000, 9000] }),
      inject('the operator decides a payout', { at: [900, 1500], amount: 0 }),
    ),
    onFact('settlement PayoutFailed', inject('the operator retries a payout', { at: [0, 400] })),
    onNth(onFact('settlement PayoutFailed', ...maybe(inject('the seller gives an invoice', { at: [0, 400] }))), 2),
  ],
})

/**
 * The node is offline at the last height, so the payment is cancelled although the channel may be open. The order learns late of
 * the cancellation. Meanwhile the seller submits an invoice, before the operator loss is decided.
 */
export const lossBeforeOrderKnows = ({ onFact, inject, pick, maybe, openManually }: ScenarioTools): Scenario => ({
  workloadMs: 16_000,
  triggers: [
    ...maybe(...openManually()),
    onFact(
      pick('order FundingSeenRecorded', 'order FundingConfirmedRecorded'),
      inject('order hears the watch late', { at: 0, amount: [2500, 4500] }),
      inject('order hears settlement late', { at: 0, amount: [2500, 4500] }),
      inject('the node is away', { at: 0, amount: [2000, 4000] }),
      inject('the last height comes', { at: [0, 400], amount: [6, 7] }),
      ...maybe(inject('blocks are mined', { at: [400, 900], amount: 1 })),
    ),
    onFact(
      'settlement LossSearchStarted',
      inject('the node is away', { at: 0, amount: [400, 1500] }),
      ...[1, 2].map(() =>
        inject(pick('the seller gives an invoice', 'the seller gives an invoice', 'the seller gives an invoice twice'), {
          at: [0, 300],
        }),
      ),
    ),
    onFact('settlement LossBorne', ...maybe(inject('the operator decides a payout', { at: [0, 600], amount: pick(0, 1) }))),
  ],
})
