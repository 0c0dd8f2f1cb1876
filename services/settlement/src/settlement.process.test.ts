import { settlement as contract, type SettlementFact } from '@penstock/contracts/settlement.ts'
import { ask } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import {
  cancelled,
  cancelRequested,
  E,
  EXPIRES,
  fact,
  HASH,
  isNoted,
  issued,
  NOW,
  ORDER,
  payoutInvoice,
  requested,
  settleAsked,
  settleMissed,
  stateAfter,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
  toSettling,
} from './samples.contract.ts'
import { settlementService } from './service.ts'
import { settlement } from './settlement.ts'
import { settlementProcess } from './settlement.process.ts'

const steps = (...facts: readonly SettlementFact[]) =>
  settlementProcess(stateAfter(...facts), ORDER).map((next) =>
    next.kind === 'deadline' ? [next.step, next.due] : [next.step, next.attempt],
  )
const lastHeight = ['last-height', { height: E - 24 }]
const invoice = payoutInvoice()
const { paymentHash } = invoice
const offered = fact('PayoutInvoiceOffered', invoice)
const taken = fact('PayoutInvoiceTaken', { paymentHash })
const asked = fact('PayoutRequested', { attempt: 3, paymentHash, request: invoice.request, maxFeeMsat: '0' })

test('what each state waits for', () => {
  expect(steps()).toEqual([])
  expect(steps(requested)).toEqual([['issue', 1]])
  expect(steps(...toOpen)).toEqual([['expire', { at: EXPIRES }]])
  expect(steps(...toHeld)).toEqual([lastHeight])
  expect(steps(...toNoted)).toEqual([lastHeight])
  expect(steps(...toHeld, fact('ReachAsked', { attempt: 2 }))).toEqual([lastHeight, ['reach', 2]])
  expect(steps(...toNoted, settleAsked)).toEqual([lastHeight, ['prove', 2]])
  expect(steps(...toHeld, settleAsked)).toEqual([lastHeight])
  expect(steps(...toHeld, fact('LastHeightReached', { height: E - 24 }))).toEqual([lastHeight, ['prove', 1]])
  expect(steps(...toNoted, settleAsked, fact('LastHeightReached', { height: E - 24 }))).toEqual([lastHeight, ['prove', 3]])
  expect(steps(...toSettling)).toEqual([['settle', 1]])
  expect(steps(...toSettling, settleMissed)).toEqual([['cancel', 1]])
  expect(steps(...toHeld, cancelRequested)).toEqual([['cancel', 1]])
})

test('the expiry names its invoice', () => {
  expect(settlementProcess(stateAfter(...toOpen), ORDER)).toMatchObject([
    { command: { type: 'ExpireInvoice', data: { deadline: EXPIRES, paymentHash: HASH } } },
  ])
})

test('nothing once the money is back', () => {
  expect(steps(...toHeld, cancelRequested, cancelled)).toEqual([])
  expect(steps(requested, fact('HoldRefused', { code: 'unreachable', reason: 'x' }))).toEqual([])
})

test('an invoice that was made too late is cancelled too', () => {
  const late = [requested, cancelRequested, cancelled, issued]
  expect(steps(...late)).toEqual([['cancel', 2]])
  expect(steps(...late, cancelled)).toEqual([])
})

test('an invoice that was made although the hold was refused is cancelled, and that comes to an end', () => {
  const late = [requested, fact('HoldRefused', { code: 'unreachable', reason: 'Nobody answers.' }), issued]
  expect(steps(...late)).toEqual([['cancel', 1]])
  const confirmed = given(settlement, ...late).when({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
  const gone = fact('HoldCancelled', { at: NOW, reason: 'released', verdict: null, sentence: 'Nobody answers.' })
  confirmed.then(gone)
  expect(steps(...late, gone)).toEqual([])
})

test('a hash is claimed for as long as nobody answered', () => {
  expect(settlementProcess(stateAfter(offered), ORDER)).toMatchObject([
    { kind: 'command', category: 'payhash', id: paymentHash, command: { type: 'ClaimPayhash', data: { orderId: ORDER } } },
  ])
  expect(steps(offered, taken)).toEqual([])
  expect(steps(offered, fact('PayoutInvoiceRefused', { paymentHash, reason: 'x' }))).toEqual([])
})

test('the payout is unfinished until the seller has it', () => {
  const due = (tries: number, at: number) => [[`payout-${tries}`, { at }]]
  // The name has the number of tries: a deadline that was handled is never one that is waited for again.
  expect(steps(...toSettled)).toEqual(due(0, NOW + 86_400_000))
  expect(steps(...toSettled, offered, taken, asked)).toEqual([['pay', 3]])
  expect(
    steps(
      ...toSettled,
      offered,
      taken,
      asked,
      fact('PayoutFailed', { attempt: 3, paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: NOW + 5 }),
    ),
  ).toEqual(due(3, NOW + 5))
  const paid = [
    fact('PayoutSucceeded', { attempt: 3, paymentHash, feeMsat: '0' }),
    fact('LedgerPosted', {
      posting: 'payout',
      entries: [
        { account: 'payable', amountMsat: '4000000' },
        { account: 'paid-out', amountMsat: '-4000000' },
      ],
    }),
  ]
  expect(steps(...toSettled, offered, taken, asked, ...paid)).toEqual([])
})

test('a replaced outpoint has to be asked for anew', () => {
  const other = fact('OutpointNoted', { ...isNoted.data, outpoint: `${'00'.repeat(32)}:3` })
  expect(steps(...toNoted, settleAsked, other)).toEqual([lastHeight])
  expect(steps(...toNoted, settleAsked, other, fact('SettleAsked', { outpoint: other.data.outpoint }))).toEqual([
    lastHeight,
    ['prove', 4],
  ])
})

test('a promise that the watcher saw broken reaches the order’s money', () => {
  const reaction = settlementService().reactions.find(({ type }) => type === 'PromiseBroken')
  const data = { attempt: 1, outpoint: isNoted.data.outpoint, what: 'base-fee', reason: 'Too dear.', tipHeight: 910 }
  // Only what the reaction reads is there.
  const event = { aggregateId: ORDER, fact: { data } } as unknown as Parameters<NonNullable<typeof reaction>['react']>[0]
  expect(reaction?.react(event)).toEqual([ask(contract, ORDER, 'RecordPromiseBroken', { sentence: 'Too dear.', height: 910 })])
})
