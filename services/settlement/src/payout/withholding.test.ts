import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import type { SettlementPorts } from '../effects/ports.ts'
import {
  sellerInvoice,
  invoiceSubmittedFact,
  paymentHash,
  payoutReleasedFact,
  invoiceAcceptedFact,
  payingHistory,
} from './payout-samples.fixture.ts'
import { settlementService } from '../service.ts'
import { settlementDecider } from '../settlement.decide.ts'
import { isUndecided } from './withholding.decide.ts'
import {
  sampleEvidence,
  settlementFact,
  guardCommand,
  sampleFeeLimit,
  NOW,
  registeredOutpoint,
  makePayoutInvoice,
  ledgerPostedFact,
  proof,
  SELLER_MSAT,
  settlementWantedFact,
  holdSettledFact,
  stateAfter,
  registeredHistory,
  settledHistory,
} from '../samples.fixture.ts'

type History = readonly SettlementFact[]
type Cause = Extract<SettlementFact, { type: 'PayoutWithheld' }>['data']['cause']

const SPEND = 'ee'.repeat(32)
/** End height of a cause that begins at height 904. */
const END = 1912
const waiting = (tipHeight: number) => sampleEvidence({ tipHeight }, { spentBy: { txid: SPEND, height: null } })
const spent = (tipHeight: number) => sampleEvidence({ tipHeight }, { spentBy: { txid: SPEND, height: 904 } })
const gone = (tipHeight: number) => sampleEvidence({ tipHeight, output: null, graph: null })
const buried = (tipHeight: number) => sampleEvidence({ tipHeight })
const probed = (tipHeight: number) => sampleEvidence({ tipHeight, graph: null, probe: 'reached' })
const withheld = (cause: Cause, untilHeight = END) => settlementFact('PayoutWithheld', { cause, reason: 'x', untilHeight })
const lifted = (cause: Cause, height: number, how: 'gone' | 'end-height' | 'operator' = 'gone') =>
  settlementFact('WithholdingLifted', { cause, height, how })
const releasedAfter = (atHeight: number, confirmations: number) => settlementFact('PayoutReleased', { atHeight, confirmations })
const incident = (what: string, height = 904) => settlementFact('IncidentRecorded', { what, height })
const owedToBuyer = settlementFact('LedgerPosted', {
  posting: 'owed-to-buyer',
  entries: [
    { account: 'payable', amountMsat: `${SELLER_MSAT}` },
    { account: 'owed-to-buyer', amountMsat: `-${SELLER_MSAT}` },
  ],
})
const weaklyProven = settlementFact('SettlementStarted', {
  proof: { ...proof, peer: 'probe', withheld: true },
  lastHeight: false,
})
const unannounced = [
  ...registeredHistory,
  settlementWantedFact,
  weaklyProven,
  holdSettledFact,
  ledgerPostedFact,
  withheld('peer-proof'),
]
const decide = (to: 'seller' | 'buyer', height: number) =>
  ({ type: 'DecidePayout', data: { to, by: 'ada', reason: 'The probe was forged.', proof: '', isProven: true, height } }) as const

test('a decision without a proof of its operator is refused, whatever state the payout is in', () => {
  const unproven = { ...decide('buyer', END), data: { ...decide('buyer', END).data, isProven: false } }
  for (const history of [[], settledHistory, [...unannounced]])
    expect(given(settlementDecider, ...history).when(unproven).decision).toMatchObject({ refused: { code: 'NOT_PROVEN' } })
})

describe('a spend in a mempool', () => {
  const history: History = [...settledHistory, withheld('spend-unconfirmed')]
  test('withholds the payout with an end height, once', () => {
    expect(given(settlementDecider, ...settledHistory).when(guardCommand(904, waiting(904))).decision).toMatchObject({
      facts: [{ type: 'PayoutWithheld', data: { cause: 'spend-unconfirmed', untilHeight: END } }],
    })
    given(settlementDecider, ...history)
      .when(guardCommand(906, waiting(906)))
      .then()
  })
  test('stops withholding when it vanishes', () => {
    given(settlementDecider, ...history)
      .when(guardCommand(906, buried(906)))
      .then(lifted('spend-unconfirmed', 906), payoutReleasedFact)
  })
  test('becomes a spend in a block, which an operator has to decide', () => {
    expect(given(settlementDecider, ...history).when(guardCommand(910, spent(910))).decision).toMatchObject({
      facts: [
        { type: 'WithholdingLifted', data: { cause: 'spend-unconfirmed', how: 'gone' } },
        { type: 'IncidentRecorded', data: { what: 'funding-spent' } },
        { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: 910 + 1008 } },
      ],
    })
  })
  test('stops withholding at its end height if the funding is confirmed, and a later spend does not withhold again', () => {
    given(settlementDecider, ...history)
      .when(guardCommand(END, waiting(END)))
      .then(lifted('spend-unconfirmed', END, 'end-height'), releasedAfter(END, 1012))
    given(settlementDecider, ...history, lifted('spend-unconfirmed', END, 'end-height'), releasedAfter(END, 1012))
      .when(guardCommand(END + 1, spent(END + 1)))
      .then()
  })
  test('still withholds at its end height while the funding has too few confirmations', () => {
    const young = (tipHeight: number, height: number) =>
      sampleEvidence({ tipHeight }, { height, spentBy: { txid: SPEND, height: null } })
    given(settlementDecider, ...history)
      .when(guardCommand(END, young(END, END - 4)))
      .then()
    given(settlementDecider, ...history)
      .when(guardCommand(END + 1, young(END + 1, END - 4)))
      .then(lifted('spend-unconfirmed', END + 1, 'end-height'), releasedAfter(END + 1, 6))
  })
  test('makes the share owed to the buyer if the funding is in no block at the end height', () => {
    const both = [...history, incident('funding-reorged'), withheld('reorg', END + 500)]
    expect(given(settlementDecider, ...both).when(guardCommand(END, gone(END))).decision).toMatchObject({
      facts: [{ type: 'PayableClosed', data: { height: END } }, owedToBuyer],
    })
  })
})

describe('a re-org', () => {
  const history: History = [...settledHistory, incident('funding-reorged'), withheld('reorg')]
  test('withholds the payout as an incident, until the funding is buried again', () => {
    expect(given(settlementDecider, ...settledHistory).when(guardCommand(904, gone(904))).decision).toMatchObject({
      facts: [incident('funding-reorged'), { type: 'PayoutWithheld', data: { cause: 'reorg', untilHeight: END } }],
    })
    given(settlementDecider, ...history)
      .when(guardCommand(905, gone(905)))
      .then()
    given(settlementDecider, ...history)
      .when(guardCommand(909, sampleEvidence({ tipHeight: 909 }, { height: 905 })))
      .then()
    given(settlementDecider, ...history)
      .when(guardCommand(909, sampleEvidence({ tipHeight: 909 }, { height: 904 })))
      .then(lifted('reorg', 909), releasedAfter(909, 6))
  })
  test('is a new incident when it happens again', () => {
    expect(
      given(settlementDecider, ...history, lifted('reorg', 909), releasedAfter(909, 6)).when(guardCommand(912, gone(912)))
        .decision,
    ).toMatchObject({ facts: [incident('funding-reorged', 912), { type: 'PayoutWithheld', data: { cause: 'reorg' } }] })
  })
  test('closes the payable at its end height, and makes its amount owed to the buyer', () => {
    const { decision } = given(settlementDecider, ...history).when(guardCommand(END, gone(END)))
    expect(decision).toMatchObject({ facts: [{ type: 'PayableClosed', data: { height: END } }, owedToBuyer] })
    given(settlementDecider, ...history)
      .when(guardCommand(END - 1, gone(END - 1)))
      .then()
  })
})

describe('a spend in a block, or evidence against the sold terms', () => {
  test('is recorded as an incident once, and withholds the payout until an operator decides', () => {
    expect(given(settlementDecider, ...settledHistory).when(guardCommand(904, spent(904))).decision).toMatchObject({
      facts: [incident('funding-spent'), { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: END } }],
    })
    const history = [...settledHistory, incident('funding-spent'), withheld('spend-confirmed')]
    for (const height of [906, END, END + 1000])
      given(settlementDecider, ...history)
        .when(guardCommand(height, spent(height)))
        .then()
  })
  test('stops withholding when a re-org removes the spend', () => {
    given(settlementDecider, ...settledHistory, incident('funding-spent'), withheld('spend-confirmed'))
      .when(guardCommand(906, buried(906)))
      .then(lifted('spend-confirmed', 906), payoutReleasedFact)
  })
  test('withholds the payout for broken terms too', () => {
    const bad = { ...registeredOutpoint.terms, capacitySat: '1000001' }
    const history = [...settledHistory, settlementFact('OutpointRegistered', { ...registeredOutpoint, terms: bad })]
    expect(given(settlementDecider, ...history).when(guardCommand(904, buried(904))).decision).toMatchObject({
      facts: [incident('terms-broken'), { type: 'PayoutWithheld', data: { cause: 'terms', untilHeight: END } }],
    })
  })
  test('withholds a payout that waits for an invoice, but not a payment that is in progress', () => {
    given(settlementDecider, ...payingHistory)
      .when(guardCommand(907, spent(907)))
      .then()
    expect(
      given(settlementDecider, ...settledHistory, payoutReleasedFact).when(guardCommand(907, spent(907))).decision,
    ).toMatchObject({
      facts: [{ type: 'IncidentRecorded' }, { type: 'PayoutWithheld' }],
    })
  })
})

describe('a peer proof that is missing or could be forged', () => {
  test('is replaced by the announcement only', () => {
    given(settlementDecider, ...unannounced)
      .when(guardCommand(906, buried(906)))
      .then(lifted('peer-proof', 906), payoutReleasedFact)
    for (const height of [906, END, END + 1000])
      given(settlementDecider, ...unannounced)
        .when(guardCommand(height, probed(height)))
        .then()
  })
  test('stays missing while the funding is in no block', () => {
    expect(given(settlementDecider, ...unannounced).when(guardCommand(905, gone(905))).decision).toMatchObject({
      facts: [incident('funding-reorged', 905), { type: 'PayoutWithheld', data: { cause: 'reorg' } }],
    })
  })
  test('still withholds the payout after another cause has ended', () => {
    const both = [...unannounced, withheld('spend-unconfirmed', 1500)]
    const forged = sampleEvidence({ tipHeight: 1500, graph: null }, { spentBy: { txid: SPEND, height: null } })
    given(settlementDecider, ...both)
      .when(guardCommand(1500, forged))
      .then(lifted('spend-unconfirmed', 1500, 'end-height'))
  })
})

describe('the operator’s decision', () => {
  test('is possible from the end height on, for the seller or for the buyer', () => {
    given(settlementDecider, ...unannounced)
      .when(decide('seller', END - 1))
      .refuses('TOO_EARLY')
    given(settlementDecider, ...unannounced)
      .when(decide('seller', END))
      .then(
        settlementFact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'The probe was forged.' }),
        lifted('peer-proof', END, 'operator'),
      )
    given(settlementDecider, ...unannounced)
      .when(decide('buyer', END))
      .then(
        settlementFact('PayoutDecided', { to: 'buyer', by: 'ada', reason: 'The probe was forged.' }),
        settlementFact('PayableClosed', { height: END, reason: 'The probe was forged.' }),
        owedToBuyer,
      )
  })
  test('is possible at the first of several end heights, and covers the causes that have ended', () => {
    const both: History = [...unannounced, incident('funding-spent', 950), withheld('spend-confirmed', END + 46)]
    const { payout } = stateAfter(...both)
    expect([END - 1, END].map((height) => isUndecided(payout, height))).toEqual([false, true])
    given(settlementDecider, ...both)
      .when(decide('seller', END - 1))
      .refuses('TOO_EARLY')
    const payoutDecided = settlementFact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'The probe was forged.' })
    given(settlementDecider, ...both)
      .when(decide('seller', END))
      .then(payoutDecided, lifted('peer-proof', END, 'operator'))
    given(settlementDecider, ...both)
      .when(decide('seller', END + 46))
      .then(payoutDecided, lifted('peer-proof', END + 46, 'operator'), lifted('spend-confirmed', END + 46, 'operator'))
    expect(given(settlementDecider, ...both).when(decide('buyer', END)).decision).toMatchObject({
      facts: [{ type: 'PayoutDecided' }, { type: 'PayableClosed' }, { type: 'LedgerPosted' }],
    })
    // The other cause needs a decision at its own end height, and no payout happens before.
    const rest: History = [
      ...both,
      invoiceSubmittedFact,
      invoiceAcceptedFact,
      payoutDecided,
      lifted('peer-proof', END, 'operator'),
    ]
    expect([END, END + 46].map((height) => isUndecided(stateAfter(...rest).payout, height))).toEqual([false, true])
    given(settlementDecider, ...rest)
      .when(guardCommand(END + 1, spent(END + 1)))
      .then()
    given(settlementDecider, ...rest)
      .when(decide('seller', END + 45))
      .refuses('TOO_EARLY')
    given(settlementDecider, ...rest)
      .when(decide('seller', END + 46))
      .then(payoutDecided, lifted('spend-confirmed', END + 46, 'operator'))
  })
  const forSeller = settlementFact('PayoutDecided', { to: 'seller', by: 'ada', reason: 'x' })
  const decided: History = [...unannounced, forSeller, lifted('peer-proof', END, 'operator')]
  test('for the seller leads to a payout on the next block, or when the invoice arrives', () => {
    expect(
      given(settlementDecider, ...decided, invoiceSubmittedFact, invoiceAcceptedFact).when(guardCommand(END + 1, probed(END + 1)))
        .decision,
    ).toMatchObject({
      facts: [{ type: 'PayoutReleased' }, { type: 'PayoutRequested', data: { paymentHash } }],
    })
    const released: History = [...decided, releasedAfter(END + 1, 1012)]
    given(settlementDecider, ...released)
      .when(guardCommand(END + 2, probed(END + 2)))
      .then()
    const granted = { type: 'RecordPayhash', data: { paymentHash, granted: true, ...sampleFeeLimit } } as const
    expect(given(settlementDecider, ...released, invoiceSubmittedFact).when(granted).decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceAccepted' }, { type: 'PayoutRequested', data: { paymentHash } }],
    })
  })
  test('over a missing proof does not cover a later close by the seller', () => {
    for (const history of [decided, [...decided, releasedAfter(END + 1, 1012)]] satisfies History[]) {
      const { decision } = given(settlementDecider, ...history, invoiceSubmittedFact, invoiceAcceptedFact).when(
        guardCommand(END + 2, spent(END + 2)),
      )
      expect(decision).toMatchObject({
        facts: [
          { type: 'IncidentRecorded' },
          { type: 'PayoutWithheld', data: { cause: 'spend-confirmed', untilHeight: END + 1010 } },
        ],
      })
      expect('facts' in decision && decision.facts).toHaveLength(2)
    }
  })
  test('over a close covers the close permanently, and a confirmed loss covers all later causes', () => {
    const close: History = [...settledHistory, incident('funding-spent'), withheld('spend-confirmed'), forSeller]
    expect(
      given(settlementDecider, ...close, lifted('spend-confirmed', END, 'operator')).when(guardCommand(END + 1, spent(END + 1)))
        .decision,
    ).toMatchObject({ facts: [{ type: 'PayoutReleased' }] })
    const loss: History = [...settledHistory, withheld('operator-loss'), forSeller, lifted('operator-loss', END, 'operator')]
    expect(given(settlementDecider, ...loss).when(guardCommand(END + 1, spent(END + 1))).decision).toMatchObject({
      facts: [{ type: 'PayoutReleased' }],
    })
  })
  test('does not change the state hash of the version in which it covered all later causes', () => {
    const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
    const causes = ['peer-proof', 'spend-unconfirmed', 'spend-confirmed', 'terms', 'promise', 'operator-loss']
    expect(hashed.projections[3]?.(stateAfter(...decided))).toMatchObject({ payout: { settledCauses: causes } })
    expect(hashed.projections[4]?.(stateAfter(...decided))).toMatchObject({ payout: { settledCauses: ['peer-proof'] } })
  })
  test('is refused if no cause needs a decision, and while a payment is in progress', () => {
    given(settlementDecider, ...settledHistory)
      .when(decide('buyer', END))
      .refuses('NOT_WITHHELD')
    given(settlementDecider, ...settledHistory, withheld('promise'))
      .when(decide('buyer', END))
      .refuses('NOT_WITHHELD')
    given(settlementDecider, ...payingHistory)
      .when(decide('buyer', END))
      .refuses('PAYOUT_UNDER_WAY')
    given(settlementDecider, ...registeredHistory)
      .when(decide('buyer', END))
      .refuses('NOTHING_OWED')
    given(settlementDecider, ...unannounced, settlementFact('PayableClosed', { height: END, reason: 'x' }), owedToBuyer)
      .when(decide('seller', END))
      .refuses('NOTHING_OWED')
  })
})

describe('a share that is owed to the buyer', () => {
  const owed: History = [...unannounced, settlementFact('PayableClosed', { height: END, reason: 'x' }), owedToBuyer]
  const theirs = makePayoutInvoice({ by: 5, paymentHash: '55'.repeat(32) })
  const give = (change: object = {}) =>
    ({ type: 'SubmitRefundInvoice', data: { ...theirs, proof: '', isProven: true, network: 'regtest', ...change } }) as const
  const offeredByBuyer = settlementFact('PayoutInvoiceSubmitted', { ...theirs, creditor: 'buyer' })

  test('is paid once, to an invoice of any node that the buyer gives', () => {
    given(settlementDecider, ...owed)
      .when(give(), NOW)
      .then(offeredByBuyer)
    const { decision } = given(settlementDecider, ...owed, offeredByBuyer).when({
      type: 'RecordPayhash',
      data: { paymentHash: theirs.paymentHash, granted: true, ...sampleFeeLimit },
    })
    expect(decision).toMatchObject({
      facts: [{ type: 'PayoutInvoiceAccepted' }, { type: 'PayoutRequested', data: { paymentHash: theirs.paymentHash } }],
    })
    if (!('facts' in decision)) throw new Error('it is accepted')
    const paid = given(settlementDecider, ...owed, offeredByBuyer, ...decision.facts).when({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 1, feeMsat: '1000', ...sampleFeeLimit },
    })
    expect(paid.decision).toMatchObject({
      facts: [
        { type: 'PayoutSucceeded' },
        { type: 'LedgerPosted', data: { entries: [{ account: 'owed-to-buyer', amountMsat: `${SELLER_MSAT}` }, {}, {}] } },
      ],
    })
  })
  test('is paid to no invoice without a proof of the buyer or the operator, and the refusal records no fact', () => {
    given(settlementDecider, ...owed)
      .when(give({ isProven: false }), NOW)
      .refuses('NOT_PROVEN')
  })
  test('is never paid to the seller, and no invoice of the seller is accepted for it', () => {
    const { decision } = given(settlementDecider, ...owed).when(
      { type: 'SubmitPayoutInvoice', data: { ...sellerInvoice, network: 'regtest' } },
      NOW,
    )
    expect(decision).toMatchObject({ facts: [{ type: 'PayoutInvoiceRefused' }] })
    given(settlementDecider, ...owed.slice(0, -2), invoiceSubmittedFact, invoiceAcceptedFact, ...owed.slice(-2))
      .when(guardCommand(END + 1, buried(END + 1)))
      .then()
  })
  test('needs an invoice for its exact amount, and no invoice is accepted if no share is owed to the buyer', () => {
    const wrong = makePayoutInvoice({ by: 5, paymentHash: '55'.repeat(32), amountMsat: SELLER_MSAT + 1n })
    for (const [history, data] of [
      [owed, wrong],
      [settledHistory, theirs],
    ] as const)
      expect(given(settlementDecider, ...history).when(give(data), NOW).decision).toMatchObject({
        facts: [{ type: 'PayoutInvoiceRefused' }],
      })
  })
})
