import { mutantsOf } from '../mutant.ts'

const src = 'services/settlement/src'

/** What the market's operator bears. */
export const loss = mutantsOf('settlement', [
  {
    id: 'late-confirmation-is-borne',
    wrong:
      'The operator pays for a channel that confirmed after the last height, which no market could have taken the payment for.',
    file: `${src}/loss.decide.ts`,
    text: `if (inTime <= (lastHeightOf(hold) ?? 0)) {`,
    instead: `if (inTime < Number.POSITIVE_INFINITY) {`,
    killers: [`${src}/loss.test.ts`],
  },
  {
    id: 'loss-by-the-chain-alone',
    wrong: 'The operator pays for an output that only the chain shows: a seller may have opened it to itself.',
    file: `${src}/loss.decide.ts`,
    text: ` && verdict.peer !== null && !verdict.spendWaits`,
    instead: ``,
    killers: [`${src}/loss.test.ts`],
  },
  {
    id: 'unready-guard-owes-nothing',
    wrong: 'A guard that had to give up while its node was not ready asks for no loss: an honest seller is not paid.',
    file: `${src}/guard.decide.ts`,
    text: `when.isNodeReady ? [] : lossAsked(hold, 'not-ready')`,
    instead: `[] as readonly SettlementFact[]`,
    killers: [`${src}/loss.test.ts`],
  },
  {
    id: 'loss-paid-unconfirmed',
    wrong: 'A loss is lifted like a re-organisation that is over: it is paid before an operator has confirmed it.',
    file: `${src}/withholding.decide.ts`,
    text: `!STAYS.includes(cause)`,
    instead: `cause !== 'promise'`,
    killers: [`${src}/loss.test.ts`],
  },
  {
    id: 'close-without-a-word',
    wrong: 'An operator closes an order whose channel was named, and is not told what it costs.',
    file: 'services/order/src/decide.release.ts',
    text: `order.named && !bearsLoss`,
    instead: `false as boolean`,
    killers: ['services/order/src/refusals.test.ts'],
  },
])
