import { createMutants } from '../mutant.ts'

const src = 'services/settlement/src'

/** Faults in the code for operator losses. */
export const lossMutants = createMutants('settlement', [
  {
    id: 'late-confirmation-is-borne',
    description:
      'The operator pays for a channel that confirmed after the last height: no market could have settled its payment.',
    file: `${src}/payout/loss.decide.ts`,
    text: 'if (fundingHeight <= (lastHeightOfHold(hold) ?? 0)) {',
    replacement: 'if (fundingHeight < Number.POSITIVE_INFINITY) {',
  },
  {
    id: 'loss-by-the-chain-alone',
    description: 'The operator pays for an output that only the chain proves: the seller may have opened it to its own node.',
    file: `${src}/payout/loss.decide.ts`,
    text: ' && verdict.peer !== null && !verdict.hasUnconfirmedSpend',
    replacement: '',
  },
  {
    id: 'unready-guard-owes-nothing',
    description: 'A guard that cancels because its node is not ready records no loss: an honest seller is not paid.',
    file: `${src}/hold/guard.decide.ts`,
    text: `when.isNodeReady ? [] : startLossCheck(hold, 'not-ready')`,
    replacement: '[] as readonly SettlementFact[]',
    killers: [`${src}/payout/loss.test.ts`],
  },
  {
    id: 'loss-paid-unconfirmed',
    description: 'A loss is lifted like a re-organisation that is over: it is paid before an operator confirms it.',
    file: `${src}/payout/withholding.decide.ts`,
    text: '!PERMANENT_CAUSES.includes(cause)',
    replacement: `cause !== 'promise'`,
    killers: [`${src}/payout/loss.test.ts`],
  },
  {
    id: 'close-without-a-word',
    description:
      'An operator closes an order with an accepted outpoint without agreeing to the loss: it learns the cost afterwards.',
    file: 'services/order/src/decide/release.ts',
    text: 'order.outpoint && !bearsLoss',
    replacement: 'false as boolean',
    killers: ['services/order/src/refusals.test.ts'],
  },
])
