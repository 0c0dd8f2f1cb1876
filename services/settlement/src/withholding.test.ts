import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import type { SettlementPorts } from './effects/ports.ts'
import { invoice, offered, paymentHash, releasedAt, taken, toPaying } from './payout-samples.contract.ts'
import { settlementService } from './service.ts'
import { settlement } from './settlement.ts'
import { isUndecided } from './withholding.decide.ts'
import {
  evidence,
  fact,
  guard,
  limit,
  NOW,
  noted,
  payoutInvoice,
  posted,
  proof,
  SELLER_MSAT,
  settleAsked,
  settled,
  stateAfter,
  toNoted,
  toSettled,
} from './samples.contract.ts'

type History = readonly SettlementFact[]
type Cause = Extract<SettlementFact, { type: 'PayoutWithheld' }>['data']['cause']

const SPEND = 'ee'.repeat(32)
/** The sample of settled holds is withheld at height 904, with 1,008 blocks to go. */
const END = 1912
const waiting = (tipHeight: number) => evidence({ tipHeight }, { spentBy: { txid: SPEND, height: null } })
const spent = (tipHeight: number) => evidence({ tipHeight }, { spentBy: { txid: SPEND, height: 904 } })
const gone = (tipHeight: number) => evidence({ tipHeight, output: null, graph: null })
const buried = (tipHeight: number) => evidence({ tipHeight })
const probed = (tipHeight: number) => evidence({ tipHeight, graph: null, probe: 'reached' })
const withheld = (cause: Cause, untilHeight = END) => fact('PayoutWithheld', { cause, reason: 'x', untilHeight })
const lifted = (cause: Cause, height: number, how: 'gone' | 'end-height' | 'operator' = 'gone') =>
  fact('WithholdingLifted', { cause, height, how })
const releasedAfter = (atHeight: number, confirmations: number) => fact('PayoutReleased', { atHeight, confirmations })
const incident = (what: string, height = 904) => fact('IncidentNoted', { what, height })
const owedToBuyer = fact('LedgerPosted', {
  posting: 'owed-to-buyer',
  entries: [
    { account: 'payable', amountMsat: `${SELLER_MSAT}` },
    { account: 'owed-to-buyer', amountMsat: `-${SELLER_MSAT}` },
  ],
})
const weaklyProven = fact('SettleRequested', { proof: { ...proof, peer: 'probe', withheld: true }, lastHeight: false })
const unannounced = [...toNoted, settleAsked, weaklyProven, settled, posted, withheld('peer-proof')]
const decide = (to: 'seller' | 'buyer', height: number) =>
  ({ type: 'DecidePayout', data: { to, by: 'ada', reason: 'The probe was forged.', height } }) as const

describe('a spend in a mempool', () => {
  const history: History = [...toSettled, withheld('spend-unconfirmed')]
  test('withholds the payout with an end height, once', () => {
    expect(given(settlement, ...toSettled).when(guard(904, waiting(904))).decision).toMatchObject({
      facts: [{ type: 'PayoutWithheld', data: { cause: 'spend-unconfirmed', untilHeight: END } }],
    })
    given(settlement, ...history)
      .when(guard(906, waiting(906)))
      .then()
  })
  test('is over when it has gone', () => {
    given(settlement, ...history)
      .when(guard(906, buried(906)))
      .then(lifted('spend-unconfirmed', 906), releasedAt)
  })
  test('becomes a spend in a block, which an operator decides', () => {
    expect(given(settlement, ...history).when(guard(910, spent(910))).decision).toMatchObject({
      facts: [
        { type: 'WithholdingLifted', data: { cause: 'spend-unconfirmed', how: 'gone' } },
        { type: 'IncidentNoted', data: { what: 'funding-spent' } },
        { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: 910 + 1008 } },
      ],
    })
  })
  test('ends by its height: paid where the funding is buried, and a spend changes nothing any more', () => {
    given(settlement, ...history)
      .when(guard(END, waiting(END)))
      .then(lifted('spend-unconfirmed', END, 'end-height'), releasedAfter(END, 1012))
    given(settlement, ...history, lifted('spend-unconfirmed', END, 'end-height'), releasedAfter(END, 1012))
      .when(guard(END + 1, spent(END + 1)))
      .then()
  })
  test('waits on at its end where the funding has fewer confirmations', () => {
    const young = (tipHeight: number, height: number) =>
      evidence({ tipHeight }, { height, spentBy: { txid: SPEND, height: null } })
    given(settlement, ...history)
      .when(guard(END, young(END, END - 4)))
      .then()
    given(settlement, ...history)
      .when(guard(END + 1, young(END + 1, END - 4)))
      .then(lifted('spend-unconfirmed', END + 1, 'end-height'), releasedAfter(END + 1, 6))
  })
  test('the share is owed to the buyer where the funding is in no block at the end', () => {
    const both = [...history, incident('funding-reorged'), withheld('reorg', END + 500)]
    expect(given(settlement, ...both).when(guard(END, gone(END))).decision).toMatchObject({
      facts: [{ type: 'PayableClosed', data: { height: END } }, owedToBuyer],
    })
  })
})

describe('a re-org', () => {
  const history: History = [...toSettled, incident('funding-reorged'), withheld('reorg')]
  test('withholds the payout as an incident, and is over once the funding is buried again', () => {
    expect(given(settlement, ...toSettled).when(guard(904, gone(904))).decision).toMatchObject({
      facts: [incident('funding-reorged'), { type: 'PayoutWithheld', data: { cause: 'reorg', untilHeight: END } }],
    })
    given(settlement, ...history)
      .when(guard(905, gone(905)))
      .then()
    given(settlement, ...history)
      .when(guard(909, evidence({ tipHeight: 909 }, { height: 905 })))
      .then()
    given(settlement, ...history)
      .when(guard(909, evidence({ tipHeight: 909 }, { height: 904 })))
      .then(lifted('reorg', 909), releasedAfter(909, 6))
  })
  test('is an incident again when it happens again', () => {
    expect(
      given(settlement, ...history, lifted('reorg', 909), releasedAfter(909, 6)).when(guard(912, gone(912))).decision,
    ).toMatchObject({ facts: [incident('funding-reorged', 912), { type: 'PayoutWithheld', data: { cause: 'reorg' } }] })
  })
  test('at its end the payable is closed, and its amount owed to the buyer', () => {
    const { decision } = given(settlement, ...history).when(guard(END, gone(END)))
    expect(decision).toMatchObject({ facts: [{ type: 'PayableClosed', data: { height: END } }, owedToBuyer] })
    given(settlement, ...history)
      .when(guard(END - 1, gone(END - 1)))
      .then()
  })
})

describe('a spend in a block, or evidence against what was sold', () => {
  test('is an incident, noted once, and withholds the payout until an operator decides', () => {
    expect(given(settlement, ...toSettled).when(guard(904, spent(904))).decision).toMatchObject({
      facts: [incident('funding-spent'), { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: END } }],
    })
    const history = [...toSettled, incident('funding-spent'), withheld('spend-confirmed')]
    for (const height of [906, END, END + 1000])
      given(settlement, ...history)
        .when(guard(height, spent(height)))
        .then()
  })
  test('a spend that a re-org took away withholds nothing any more', () => {
    given(settlement, ...toSettled, incident('funding-spent'), withheld('spend-confirmed'))
      .when(guard(906, buried(906)))
      .then(lifted('spend-confirmed', 906), releasedAt)
  })
  test('terms that turn out to be broken withhold it, too', () => {
    const bad = { ...noted.terms, capacitySat: '1000001' }
    const history = [...toSettled, fact('OutpointNoted', { ...noted, terms: bad })]
    expect(given(settlement, ...history).when(guard(904, buried(904))).decision).toMatchObject({
      facts: [incident('terms-broken'), { type: 'PayoutWithheld', data: { cause: 'terms', untilHeight: END } }],
    })
  })
  test('comes too late for a payout that is under way, and in time for one that waits for an invoice', () => {
    given(settlement, ...toPaying)
      .when(guard(907, spent(907)))
      .then()
    expect(given(settlement, ...toSettled, releasedAt).when(guard(907, spent(907))).decision).toMatchObject({
      facts: [{ type: 'IncidentNoted' }, { type: 'PayoutWithheld' }],
    })
  })
})

describe('a peer proof that is missing or could be forged', () => {
  test('is made good by the announcement alone', () => {
    given(settlement, ...unannounced)
      .when(guard(906, buried(906)))
      .then(lifted('peer-proof', 906), releasedAt)
    for (const height of [906, END, END + 1000])
      given(settlement, ...unannounced)
        .when(guard(height, probed(height)))
        .then()
  })
  test('stays missing while the funding is in no block', () => {
    expect(given(settlement, ...unannounced).when(guard(905, gone(905))).decision).toMatchObject({
      facts: [incident('funding-reorged', 905), { type: 'PayoutWithheld', data: { cause: 'reorg' } }],
    })
  })
  test('each cause has its own end: nothing is paid while one stands', () => {
    const both = [...unannounced, withheld('spend-unconfirmed', 1500)]
    const forged = evidence({ tipHeight: 1500, graph: null }, { spentBy: { txid: SPEND, height: null } })
    given(settlement, ...both)
      .when(guard(1500, forged))
      .then(lifted('spend-unconfirmed', 1500, 'end-height'))
  })
})

describe('the operator’s decision', () => {
  test('is taken from the end height on, between seller and buyer', () => {
    given(settlement, ...unannounced)
      .when(decide('seller', END - 1))
      .refuses('TOO_EARLY')
    given(settlement, ...unannounced)
      .when(decide('seller', END))
      .then(
        fact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'The probe was forged.' }),
        lifted('peer-proof', END, 'operator'),
      )
    given(settlement, ...unannounced)
      .when(decide('buyer', END))
      .then(
        fact('PayoutDecided', { to: 'buyer', by: 'ada', reason: 'The probe was forged.' }),
        fact('PayableClosed', { height: END, reason: 'The probe was forged.' }),
        owedToBuyer,
      )
  })
  test('is asked for and taken at the first of several ends, and covers what has ended', () => {
    const both: History = [...unannounced, incident('funding-spent', 950), withheld('spend-confirmed', END + 46)]
    const { payout } = stateAfter(...both)
    expect([END - 1, END].map((height) => isUndecided(payout, height))).toEqual([false, true])
    given(settlement, ...both)
      .when(decide('seller', END - 1))
      .refuses('TOO_EARLY')
    const said = fact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'The probe was forged.' })
    given(settlement, ...both)
      .when(decide('seller', END))
      .then(said, lifted('peer-proof', END, 'operator'))
    given(settlement, ...both)
      .when(decide('seller', END + 46))
      .then(said, lifted('peer-proof', END + 46, 'operator'), lifted('spend-confirmed', END + 46, 'operator'))
    expect(given(settlement, ...both).when(decide('buyer', END)).decision).toMatchObject({
      facts: [{ type: 'PayoutDecided' }, { type: 'PayableClosed' }, { type: 'LedgerPosted' }],
    })
    // The other is asked for at its own end, and nothing is paid before.
    const rest: History = [...both, offered, taken, said, lifted('peer-proof', END, 'operator')]
    expect([END, END + 46].map((height) => isUndecided(stateAfter(...rest).payout, height))).toEqual([false, true])
    given(settlement, ...rest)
      .when(guard(END + 1, spent(END + 1)))
      .then()
    given(settlement, ...rest)
      .when(decide('seller', END + 45))
      .refuses('TOO_EARLY')
    given(settlement, ...rest)
      .when(decide('seller', END + 46))
      .then(said, lifted('spend-confirmed', END + 46, 'operator'))
  })
  const forSeller = fact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'x' })
  const decided: History = [...unannounced, forSeller, lifted('peer-proof', END, 'operator')]
  test('for the seller it is paid on the next block, or once its invoice comes', () => {
    expect(given(settlement, ...decided, offered, taken).when(guard(END + 1, probed(END + 1))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }, { type: 'PayoutRequested', data: { paymentHash } }],
    })
    const released: History = [...decided, releasedAfter(END + 1, 1012)]
    given(settlement, ...released)
      .when(guard(END + 2, probed(END + 2)))
      .then()
    const granted = { type: 'RecordPayhash', data: { paymentHash, granted: true, ...limit } } as const
    expect(given(settlement, ...released, offered).when(granted).decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceTaken' }, { type: 'PayoutRequested', data: { paymentHash } }],
    })
  })
  test('over a missing proof does not cover a later close by the seller', () => {
    for (const history of [decided, [...decided, releasedAfter(END + 1, 1012)]] satisfies History[]) {
      const { decision } = given(settlement, ...history, offered, taken).when(guard(END + 2, spent(END + 2)))
      expect(decision).toMatchObject({
        facts: [
          { type: 'IncidentNoted' },
          { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: END + 1010 } },
        ],
      })
      expect('facts' in decision && decision.facts).toHaveLength(2)
    }
  })
  test('over a close covers it for good, and a loss that is confirmed whatever comes', () => {
    const close: History = [...toSettled, incident('funding-spent'), withheld('spend-confirmed'), forSeller]
    expect(
      given(settlement, ...close, lifted('spend-confirmed', END, 'operator')).when(guard(END + 1, spent(END + 1))).decision,
    ).toMatchObject({ facts: [{ type: 'PayoutReleased' }] })
    const loss: History = [...toSettled, withheld('operator-loss'), forSeller, lifted('operator-loss', END, 'operator')]
    expect(given(settlement, ...loss).when(guard(END + 1, spent(END + 1))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }],
    })
  })
  test('a state from when it covered whatever came has the hash that it had', () => {
    const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
    const causes = ['peer-proof', 'spend-unconfirmed', 'spend-confirmed', 'terms', 'promise', 'operator-loss']
    expect(hashed.of[3]?.(stateAfter(...decided))).toMatchObject({ payout: { settledCauses: causes } })
    expect(hashed.of[4]?.(stateAfter(...decided))).toMatchObject({ payout: { settledCauses: ['peer-proof'] } })
  })
  test('is refused where nothing is to be decided, and while the payout is under way', () => {
    given(settlement, ...toSettled)
      .when(decide('buyer', END))
      .refuses('NOT_WITHHELD')
    given(settlement, ...toSettled, withheld('promise'))
      .when(decide('buyer', END))
      .refuses('NOT_WITHHELD')
    given(settlement, ...toPaying)
      .when(decide('buyer', END))
      .refuses('PAYOUT_UNDER_WAY')
    given(settlement, ...toNoted)
      .when(decide('buyer', END))
      .refuses('NOTHING_OWED')
    given(settlement, ...unannounced, fact('PayableClosed', { height: END, reason: 'x' }), owedToBuyer)
      .when(decide('seller', END))
      .refuses('NOTHING_OWED')
  })
})

describe('a share that is owed to the buyer', () => {
  const owed: History = [...unannounced, fact('PayableClosed', { height: END, reason: 'x' }), owedToBuyer]
  const theirs = payoutInvoice({ by: 5, paymentHash: '55'.repeat(32) })
  const give = (change: object = {}) =>
    ({ type: 'GiveRefundInvoice', data: { ...theirs, network: 'regtest', ...change } }) as const
  const offeredByBuyer = fact('PayoutInvoiceOffered', { ...theirs, creditor: 'buyer' })

  test('is paid to the invoice that the buyer gives, of whatever node, once', () => {
    given(settlement, ...owed)
      .when(give(), NOW)
      .then(offeredByBuyer)
    const { decision } = given(settlement, ...owed, offeredByBuyer).when({
      type: 'RecordPayhash',
      data: { paymentHash: theirs.paymentHash, granted: true, ...limit },
    })
    expect(decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceTaken' }, { type: 'PayoutRequested', data: { paymentHash: theirs.paymentHash } }],
    })
    if (!('facts' in decision)) throw new Error('it is accepted')
    const paid = given(settlement, ...owed, offeredByBuyer, ...decision.facts).when({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 1, feeMsat: '1000', ...limit },
    })
    expect(paid.decision).toMatchObject({
      facts: [
        { type: 'PayoutSucceeded' },
        { type: 'LedgerPosted', data: { entries: [{ account: 'owed-to-buyer', amountMsat: `${SELLER_MSAT}` }, {}, {}] } },
      ],
    })
  })
  test('is never paid to the seller, and no invoice of the seller is taken for it', () => {
    const { decision } = given(settlement, ...owed).when(
      { type: 'GivePayoutInvoice', data: { ...invoice, network: 'regtest' } },
      NOW,
    )
    expect(decision).toMatchObject({ facts: [{ type: 'PayoutInvoiceRefused' }] })
    given(settlement, ...owed.slice(0, -2), offered, taken, ...owed.slice(-2))
      .when(guard(END + 1, buried(END + 1)))
      .then()
  })
  test('an invoice for another amount is refused, and one while nothing is owed to the buyer', () => {
    const wrong = payoutInvoice({ by: 5, paymentHash: '55'.repeat(32), amountMsat: SELLER_MSAT + 1n })
    for (const [history, data] of [
      [owed, { ...wrong, network: 'regtest' as const }],
      [toSettled, { ...theirs, network: 'regtest' as const }],
    ] as const)
      expect(given(settlement, ...history).when({ type: 'GiveRefundInvoice', data }, NOW).decision).toMatchObject({
        facts: [{ type: 'PayoutInvoiceRefused' }],
      })
  })
})

test('an operator has a payout tried again at once, where there is something to pay and an invoice for it', () => {
  const retry = { type: 'RetryPayoutNow', data: { by: 'ada', reason: 'The channel is back.', ...limit } } as const
  const failed = fact('PayoutFailed', { attempt: 1, paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: NOW + 1_000_000 })
  expect(given(settlement, ...toPaying, failed).when(retry).decision).toMatchObject({
    facts: [
      { type: 'PayoutRetryRequested', data: { by: 'ada' } },
      { type: 'PayoutRequested', data: { attempt: 2 } },
    ],
  })
  given(settlement, ...toPaying)
    .when(retry)
    .refuses('PAYOUT_UNDER_WAY')
  given(settlement, ...toSettled)
    .when(retry)
    .refuses('WITHHELD')
  given(settlement, ...toSettled, releasedAt)
    .when(retry)
    .refuses('NO_INVOICE')
  given(settlement).when(retry).refuses('NOTHING_OWED')
})
