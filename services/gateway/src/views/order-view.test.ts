import { orderStatuses } from '@penstock/kernel/order-status.ts'
import { order, type OrderFact } from '@penstock/contracts/order.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { attestationOf, candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { evolveAttempts } from '../../../order/src/attempt.ts'
import { orderMachine } from '../../../order/src/order.machine.ts'
import type { Attempt } from '../../../order/src/state.ts'
import { statusAfter } from './order-status.ts'
import { isToPay, orderView, type OrderView } from './order-view.ts'
import { salesOf, statusFor } from './sales.ts'

type Data<T extends OrderFact['type']> = Extract<OrderFact, { readonly type: T }>['data']
const fact = <T extends OrderFact['type']>(type: T, data: Data<T>) => ({ type, v: 1, data }) as OrderFact // one of the union

const ID = '00000000-0000-4000-8000-0000000000aa'
function viewOf(...facts: readonly OrderFact[]): OrderView {
  const events = facts.map((one, revision): Event<OrderFact> => ({
    id: `${revision}`,
    category: order.category,
    aggregateId: ID,
    revision,
    position: BigInt(revision),
    at: 1000 + revision,
    commandId: '',
    correlation: ID,
    fact: one,
  }))
  const view = events.reduce<OrderView | undefined>(orderView, undefined)
  // What a row keeps is JSON: nothing may be lost on the way.
  assert.deepEqual(JSON.parse(JSON.stringify(view)), view)
  return view ?? assert.fail()
}

const placed = (manual = false) => fact('OrderPlaced', { ...orderTermsOf(manual), approveBefore: manual ? 5000 : null })
const accepted = fact('SellerAccepted', { by: candidateOf(1).sellerAccountId, standing: true })
const issued = fact('HoldIssued', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: 9000 })
const held = fact('PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 })
const started = (attempt: number) => fact('AttemptStarted', { attempt, candidate: candidateOf(attempt) })
const asked = (attempt: number) => fact('OpeningAsked', { attempt, openBefore: 7000 })
const named = (attempt: number, digit = attempt) => fact('OutpointNamed', { attempt, outpoint: outpointOf(digit) })
const seen = fact('FundingSeen', { outpoint: outpointOf(1) })
const confirmed = fact('FundingConfirmed', { outpoint: outpointOf(1), height: 120, channelId: '120x1x0' })
const opened = fact('ChannelOpened', { outpoint: outpointOf(1), confirmations: 3 })
const valid = fact('OrderValid', { settledAt: 2000 })
const sold = [placed(), accepted, issued, held, started(1), asked(1), named(1), seen, confirmed, opened, valid]

test('a sale passes through every status, each with its time', () => {
  const view = viewOf(...sold)
  assert.deepEqual(
    view.statuses.map(({ status }) => status),
    orderStatuses.slice(0, 8),
  )
  assert.deepEqual(view.statuses.at(-1), { status: 'VALID_CHANNEL_OPENING', at: 1010 })
  assert.deepEqual(
    [view.paymentStatus, view.channelId, view.confirmations, view.outpoint],
    ['SUCCESSFUL_PAYMENT', '120x1x0', 3, outpointOf(1)],
  )
  assert.equal(view.attempts[0]?.status, 'opened')
})

test('the status is the one that the order itself has, on every edge of its machine', () => {
  const lifecycle = compile<(typeof orderStatuses)[number] | 'NONE', OrderFact['type']>(orderMachine)
  assert.ok(lifecycle.edges.length > 100)
  for (const [from, type, to] of lifecycle.edges)
    assert.equal(statusAfter(from === 'NONE' ? undefined : from, type), to, `${type} in ${from}`)
})

describe('payment_status', () => {
  const status = (...facts: readonly OrderFact[]) => viewOf(placed(), ...facts).paymentStatus
  const lost = (lastHeight: boolean) => fact('SellerFailedToOpenChannel', { reason: 'late', blamed: true, lastHeight })
  test('null before there is an invoice, whatever ends the order', () => {
    assert.equal(status(accepted), null)
    assert.equal(status(fact('BuyerRejected', { reason: 'unreachable' })), null)
  })
  test('pending, then paid', () => {
    assert.equal(status(accepted, issued), 'PENDING_PAYMENT')
    assert.equal(status(accepted, issued, held), 'SUCCESSFUL_PAYMENT')
  })
  test('failed where it ends unpaid', () => {
    assert.equal(status(accepted, issued, fact('BuyerFailedToPay', { reason: 'expired' })), 'PAYMENT_FAILED')
    const late = [held, fact('BuyerFailedToPay', { reason: 'The invoice was not paid in time.' })]
    assert.equal(status(accepted, issued, ...late), 'PAYMENT_FAILED')
    assert.equal(status(accepted, issued, fact('AdminClosed', { by: 'op', reason: 'test' })), 'PAYMENT_FAILED')
  })
  test('it stays through a release, but for the one by height', () => {
    assert.equal(status(accepted, issued, held, started(1), lost(false)), 'SUCCESSFUL_PAYMENT')
    assert.equal(status(accepted, issued, held, started(1), lost(true)), 'HODL_INVOICE_TIMEOUT')
    assert.equal(
      status(accepted, issued, held, fact('SellerRejected', { reason: 'no capacity', record: null })),
      'SUCCESSFUL_PAYMENT',
    )
  })
})

test('a seller that was replaced has failed in its own eyes, and the next one sells', () => {
  const failed = fact('AttemptFailed', { attempt: 1, reason: 'The window passed.', blamed: true })
  const view = viewOf(placed(), accepted, issued, held, started(1), asked(1), failed, started(2), asked(2))
  assert.deepEqual(
    view.attempts.map(({ status }) => status),
    ['replaced', 'opening'],
  )
  const sales = salesOf(view)
  assert.deepEqual(
    sales.map((sale) => [sale.accountId, sale.attempt, sale.current, sale.actionNeeded, statusFor(view, sale)]),
    [
      [candidateOf(1).sellerAccountId, 1, false, false, 'SELLER_FAILED_TO_OPEN_CHANNEL'],
      [candidateOf(2).sellerAccountId, 2, true, true, 'WAITING_FOR_CHANNEL_OPEN'],
    ],
  )
  // Its late outpoint wins after all.
  const late = viewOf(placed(), accepted, issued, held, started(1), asked(1), failed, started(2), asked(2), named(1))
  assert.deepEqual(
    late.attempts.map(({ status }) => status),
    ['named', 'opening'],
  )
  assert.deepEqual(
    salesOf(late).map(({ attempt, current }) => [attempt, current]),
    [
      [1, true],
      [2, false],
    ],
  )
})

describe('what a seller has to do', () => {
  const needed = (...facts: readonly OrderFact[]) => salesOf(viewOf(...facts)).map(({ actionNeeded }) => actionNeeded)
  const invoice = (state: 'Offered' | 'Taken' | 'Refused'): OrderFact =>
    state === 'Offered'
      ? fact('PayoutInvoiceOffered', {
          attempt: 1,
          request: 'lnbcrt2',
          paymentHash: 'b'.repeat(64),
          payee: candidateOf(1).sellerPubkey,
          amountMsat: '2500000',
          expiresAt: 99,
        })
      : state === 'Taken'
        ? fact('PayoutInvoiceTaken', { paymentHash: 'b'.repeat(64) })
        : fact('PayoutInvoiceRefused', { paymentHash: 'b'.repeat(64), reason: 'used before' })
  test('accept a manual order', () => {
    assert.deepEqual(needed(placed(true)), [true])
    assert.deepEqual(needed(placed(true), accepted, invoice('Offered')), [false])
    assert.deepEqual(needed(placed(true), accepted, invoice('Offered'), invoice('Refused')), [true])
  })
  test('give an invoice of its own where the seller that was shown first had given one', () => {
    const shown = [placed(), accepted, issued, invoice('Offered'), invoice('Taken'), held] as const
    const next = fact('AttemptStarted', { attempt: 1, candidate: candidateOf(2) })
    const sale = [
      named(1),
      fact('SettlingStarted', { outpoint: outpointOf(1), lastHeight: false }),
      fact('OrderValid', { settledAt: 5 }),
    ]
    assert.deepEqual(needed(...shown, next, asked(1), ...sale), [true])
    assert.deepEqual(needed(...shown, started(1), asked(1), ...sale), [false])
    // A verdict that comes after the change makes it nobody's either.
    const unjudged = shown.filter((one) => one.type !== 'PayoutInvoiceTaken')
    assert.deepEqual(needed(...unjudged, next, invoice('Taken'), asked(1), ...sale), [true])
    assert.deepEqual(needed(...unjudged, started(1), invoice('Taken'), asked(1), ...sale), [false])
  })
  test('give one of the right amount where it sells from another offer, at another price', () => {
    const dearer = { ...candidateOf(1), offerId: '10000000-0000-4000-8000-00000000000a', sellerAmountMsat: '2700000' }
    const shown = [placed(), accepted, issued, invoice('Offered'), invoice('Taken'), held] as const
    const opening = [...shown, fact('AttemptStarted', { attempt: 1, candidate: dearer }), asked(1), named(1)]
    assert.deepEqual(needed(...opening), [true])
    const right = fact('PayoutInvoiceOffered', {
      attempt: 1,
      request: 'lnbcrt3',
      paymentHash: 'c'.repeat(64),
      payee: dearer.sellerPubkey,
      amountMsat: dearer.sellerAmountMsat,
      expiresAt: 99,
    })
    assert.deepEqual(needed(...opening, right), [false])
  })
  test('nothing before the buyer has paid, and nothing before it is asked to open', () => {
    assert.deepEqual(needed(placed(), accepted, issued), [false])
    assert.deepEqual(needed(placed(), accepted, issued, held, started(1)), [false])
  })
  test('open, and give an invoice', () => {
    const opening = [placed(), accepted, issued, held, started(1), asked(1)]
    assert.deepEqual(needed(...opening), [true])
    assert.deepEqual(needed(...opening, named(1)), [true])
    assert.deepEqual(needed(...opening, named(1), invoice('Offered')), [false])
    assert.deepEqual(needed(...opening, named(1), invoice('Offered'), invoice('Taken')), [false])
    assert.deepEqual(needed(...sold, invoice('Offered'), invoice('Refused')), [true])
    assert.deepEqual(needed(...opening, fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'op' })), [
      false,
    ])
  })
})

test('an invoice waits for the buyer until it is paid, also where no seller is found yet', () => {
  const toPay = (...facts: readonly OrderFact[]) => isToPay(viewOf(placed(), accepted, ...facts))
  assert.deepEqual([toPay(), toPay(issued), toPay(issued, held)], [false, true, false])
})

describe('an attempt is shown as it stands in the order itself', () => {
  const reorged = fact('FundingReorged', { outpoint: outpointOf(1) })
  const failed = fact('AttemptFailed', { attempt: 1, reason: 'The window passed.', blamed: true })
  const closed = fact('AdminClosed', { by: 'op', reason: 'It was asked for.' })
  const unpaid = fact('BuyerFailedToPay', { reason: 'The invoice was not paid in time.' })
  const gaveUp = fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false })
  const opening = [placed(), accepted, issued, held, started(1), asked(1)] as const
  const second = [started(2), asked(2), fact('AttemptFailed', { attempt: 2, reason: 'The first has opened.', blamed: false })]
  test.each([
    ['a re-org', [...sold.slice(0, 10), reorged], [null]],
    ['a re-org, and open again', [...sold.slice(0, 10), reorged, confirmed, opened], [null]],
    ['closed while it was to begin', [...opening.slice(0, 5), closed], ['It was asked for.']],
    ['closed while it opened', [...opening, closed], ['It was asked for.']],
    ['closed when it was named', [...opening, named(1), closed], ['It was asked for.']],
    ['closed when it was open', [...sold.slice(0, 10), closed], ['It was asked for.']],
    ['not paid in time after all', [...opening, unpaid], ['The invoice was not paid in time.']],
    ['nobody opened', [...opening, failed, started(2), asked(2), gaveUp], ['The window passed.', 'Nobody opened.']],
    ['it had failed before', [...opening, failed, gaveUp], ['The window passed.']],
    ['a late winner', [...opening, failed, ...second, named(1)], [null, 'The first has opened.']],
  ] as const)('%s', (_, facts, reasons) => {
    const { attempts } = viewOf(...facts)
    const own = facts.reduce<readonly Attempt[]>(evolveAttempts, [])
    assert.deepEqual(
      attempts.map(({ status }) => status),
      own.map(({ status }) => status),
    )
    assert.deepEqual(
      attempts.map(({ reason }) => reason),
      reasons,
    )
  })
})

test('another outpoint in place of the first forgets what was seen of that', () => {
  const view = viewOf(...sold.slice(0, 9), named(1, 2))
  assert.deepEqual(
    [view.status, view.outpoint, view.channelId, view.confirmations],
    ['SELLER_SENT_TRANSACTION', outpointOf(2), null, 0],
  )
  assert.equal(view.outpoints[outpointOf(2)]?.state, 'taken')
})

test('a re-organisation takes the confirmations back', () => {
  const view = viewOf(...sold.slice(0, 10), fact('FundingReorged', { outpoint: outpointOf(1) }))
  assert.deepEqual(
    [view.status, view.channelId, view.fundingHeight, view.confirmations],
    ['WAITING_FOR_ON_CHAIN_CONFIRMATION', null, null, 0],
  )
})

test('an outpoint that was refused says why, until it is offered again', () => {
  const offered = fact('OutpointOffered', { attempt: 1, outpoint: outpointOf(1), attestation: attestationOf(outpointOf(1)) })
  const refused = fact('OutpointRefused', { attempt: 1, outpoint: outpointOf(1), reason: 'It serves another order.' })
  const before = [placed(), accepted, issued, held, started(1), asked(1)]
  assert.deepEqual(viewOf(...before, offered, refused).outpoints[outpointOf(1)], {
    attempt: 1,
    state: 'refused',
    reason: 'It serves another order.',
  })
  assert.equal(viewOf(...before, offered, refused, offered).outpoints[outpointOf(1)]?.state, 'offered')
})

test('a release that a settlement outran is forgotten', () => {
  const release = fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: 'vanished', blamed: true, by: null })
  const settling = fact('SettlingStarted', { outpoint: outpointOf(1), lastHeight: false })
  assert.equal(viewOf(...sold.slice(0, 10), release).closing?.to, 'SELLER_FAILED_TO_SEND_SWAP')
  assert.equal(viewOf(...sold.slice(0, 10), release, settling).closing, null)
})
