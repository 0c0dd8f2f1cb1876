import { command } from '@penstock/kernel/process.ts'
import type { SettlementFact, SettlementTarget } from '@penstock/contracts/settlement.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import {
  holdCancelledFact,
  cancelRequestedFact,
  E,
  EXPIRES,
  settlementFact,
  HASH,
  outpointRegisteredFact,
  holdIssuedFact,
  NOW,
  ORDER_ID,
  makePayoutInvoice,
  holdRequestedFact,
  settlementWantedFact,
  settlementMissedFact,
  stateAfter,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
  settlingHistory,
} from './samples.fixture.ts'
import { settlementService } from './service.ts'
import { settlementDecider } from './settlement.decide.ts'
import { settlementProcess } from './settlement.process.ts'

const steps = (...facts: readonly SettlementFact[]) =>
  settlementProcess(stateAfter(...facts), ORDER_ID).map((next) =>
    next.kind === 'deadline' ? [next.step, next.due] : [next.step, next.attempt],
  )
const lastHeight = ['last-height', { height: E - 24 }]
const invoice = makePayoutInvoice()
const { paymentHash } = invoice
const invoiceSubmitted = settlementFact('PayoutInvoiceSubmitted', invoice)
const invoiceAccepted = settlementFact('PayoutInvoiceAccepted', { paymentHash })
const requested = settlementFact('PayoutRequested', { attempt: 3, paymentHash, request: invoice.request, maxFeeMsat: '0' })

test('each state of the hold has its own steps', () => {
  expect(steps()).toEqual([])
  expect(steps(holdRequestedFact)).toEqual([['issue', 1]])
  expect(steps(...openHistory)).toEqual([['expire', { at: EXPIRES }]])
  expect(steps(...heldHistory)).toEqual([lastHeight])
  expect(steps(...registeredHistory)).toEqual([lastHeight])
  expect(steps(...heldHistory, settlementFact('BuyerReachRequested', { attempt: 2 }))).toEqual([lastHeight, ['reach', 2]])
  expect(steps(...registeredHistory, settlementWantedFact)).toEqual([lastHeight, ['prove', 2]])
  expect(steps(...heldHistory, settlementWantedFact)).toEqual([lastHeight])
  expect(steps(...heldHistory, settlementFact('LastHeightReached', { height: E - 24 }))).toEqual([lastHeight, ['prove', 1]])
  expect(steps(...registeredHistory, settlementWantedFact, settlementFact('LastHeightReached', { height: E - 24 }))).toEqual([
    lastHeight,
    ['prove', 3],
  ])
  expect(steps(...settlingHistory)).toEqual([['settle', 1]])
  expect(steps(...settlingHistory, settlementMissedFact)).toEqual([['cancel', 1]])
  expect(steps(...heldHistory, cancelRequestedFact)).toEqual([['cancel', 1]])
})

test('the expiry deadline contains the payment hash of its invoice', () => {
  expect(settlementProcess(stateAfter(...openHistory), ORDER_ID)).toMatchObject([
    { command: { type: 'ExpireInvoice', data: { deadline: EXPIRES, paymentHash: HASH } } },
  ])
})

test('a hold has no steps once it is cancelled or refused', () => {
  expect(steps(...heldHistory, cancelRequestedFact, holdCancelledFact)).toEqual([])
  expect(steps(holdRequestedFact, settlementFact('HoldRefused', { code: 'unreachable', reason: 'x' }))).toEqual([])
})

test('an invoice that was created after the cancellation is cancelled too', () => {
  const late = [holdRequestedFact, cancelRequestedFact, holdCancelledFact, holdIssuedFact]
  expect(steps(...late)).toEqual([['cancel', 2]])
  expect(steps(...late, holdCancelledFact)).toEqual([])
})

test('an invoice that was created although the hold was refused is cancelled once', () => {
  const late = [
    holdRequestedFact,
    settlementFact('HoldRefused', { code: 'unreachable', reason: 'Nobody answers.' }),
    holdIssuedFact,
  ]
  expect(steps(...late)).toEqual([['cancel', 1]])
  const confirmed = given(settlementDecider, ...late).when({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
  const gone = settlementFact('HoldCancelled', { at: NOW, reason: 'released', verdict: null, sentence: 'Nobody answers.' })
  confirmed.then(gone)
  expect(steps(...late, gone)).toEqual([])
})

test('a payment hash is claimed until the claim is answered', () => {
  expect(settlementProcess(stateAfter(invoiceSubmitted), ORDER_ID)).toMatchObject([
    { kind: 'command', category: 'payhash', id: paymentHash, command: { type: 'ClaimPayhash', data: { orderId: ORDER_ID } } },
  ])
  expect(steps(invoiceSubmitted, invoiceAccepted)).toEqual([])
  expect(steps(invoiceSubmitted, settlementFact('PayoutInvoiceRefused', { paymentHash, reason: 'x' }))).toEqual([])
})

test('a payout has steps until the seller is paid', () => {
  const due = (tries: number, at: number) => [[`payout-${tries}`, { at }]]
  // The name contains the number of attempts, so that no new deadline has the name of a handled deadline.
  expect(steps(...settledHistory)).toEqual(due(0, NOW + 86_400_000))
  expect(steps(...settledHistory, invoiceSubmitted, invoiceAccepted, requested)).toEqual([['pay', 3]])
  expect(
    steps(
      ...settledHistory,
      invoiceSubmitted,
      invoiceAccepted,
      requested,
      settlementFact('PayoutFailed', { attempt: 3, paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: NOW + 5 }),
    ),
  ).toEqual(due(3, NOW + 5))
  const paid = [
    settlementFact('PayoutSucceeded', { attempt: 3, paymentHash, feeMsat: '0' }),
    settlementFact('LedgerPosted', {
      posting: 'payout',
      entries: [
        { account: 'payable', amountMsat: '4000000' },
        { account: 'paid-out', amountMsat: '-4000000' },
      ],
    }),
  ]
  expect(steps(...settledHistory, invoiceSubmitted, invoiceAccepted, requested, ...paid)).toEqual([])
})

test('a new outpoint needs a settlement request of its own before a proof starts', () => {
  const other = settlementFact('OutpointRegistered', { ...outpointRegisteredFact.data, outpoint: `${'00'.repeat(32)}:3` })
  expect(steps(...registeredHistory, settlementWantedFact, other)).toEqual([lastHeight])
  expect(
    steps(
      ...registeredHistory,
      settlementWantedFact,
      other,
      settlementFact('SettlementWanted', { outpoint: other.data.outpoint }),
    ),
  ).toEqual([lastHeight, ['prove', 4]])
})

test('a broken promise that the watcher recorded is reported to the order’s settlement', () => {
  const reaction = settlementService().reactions.find(({ type }) => type === 'PromiseBroken')
  const data = {
    attempt: 1,
    outpoint: outpointRegisteredFact.data.outpoint,
    what: 'base-fee',
    reason: 'Too dear.',
    tipHeight: 910,
  }
  // The event contains only what the reaction reads.
  const event = { aggregateId: ORDER_ID, fact: { data } } as unknown as Parameters<NonNullable<typeof reaction>['react']>[0]
  expect(reaction?.react(event)).toEqual([
    command<SettlementTarget>('settlement', ORDER_ID, {
      type: 'RecordPromiseBroken',
      data: { sentence: 'Too dear.', height: 910 },
    }),
  ])
})

test('effects that call the node of a buyer or a payee are in the lane of that node', () => {
  const lanes = (...facts: readonly SettlementFact[]) =>
    settlementProcess(stateAfter(...facts), ORDER_ID).flatMap((next) =>
      next.kind === 'effect' ? [[next.effect, next.lane]] : [],
    )
  const buyer = holdRequestedFact.data.destination.pubkey
  expect(lanes(holdRequestedFact)).toEqual([['issue', buyer]])
  expect(lanes(...heldHistory, settlementFact('BuyerReachRequested', { attempt: 2 }))).toEqual([['reach', buyer]])
  expect(lanes(...settledHistory, invoiceSubmitted, invoiceAccepted, requested)).toEqual([['pay', invoice.payee]])
})
