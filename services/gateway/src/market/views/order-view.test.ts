import { orderStatuses, evolveOrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import { orderContract, type OrderFact } from '@penstock/contracts/order.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { createAttestation, createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { evolveAttempts } from '../../../../order/src/attempt.ts'
import { orderMachine } from '../../../../order/src/order.machine.ts'
import type { Attempt } from '../../../../order/src/state.ts'
import { isAwaitingPayment, evolveOrderView, type OrderView } from './order-view.ts'
import { toSaleRows, getSellerStatus } from './sales.ts'

type Data<T extends OrderFact['type']> = Extract<OrderFact, { readonly type: T }>['data']
const fact = <T extends OrderFact['type']>(type: T, data: Data<T>) => ({ type, v: 1, data }) as OrderFact // data fits type

const ID = '00000000-0000-4000-8000-0000000000aa'
function viewOf(...facts: readonly OrderFact[]): OrderView {
  const events = facts.map((one, revision): Event<OrderFact> => ({
    id: `${revision}`,
    category: orderContract.category,
    aggregateId: ID,
    revision,
    position: BigInt(revision),
    at: 1000 + revision,
    commandId: '',
    correlation: ID,
    fact: one,
  }))
  const view = events.reduce<OrderView | undefined>(evolveOrderView, undefined)
  // A row stores the view as JSON, which must lose no data.
  assert.deepEqual(JSON.parse(JSON.stringify(view)), view)
  return view ?? assert.fail()
}

const placed = (manual = false) => fact('OrderPlaced', { ...createOrderTerms(manual), approveBefore: manual ? 5000 : null })
const accepted = fact('SellerAccepted', { by: createCandidate(1).sellerAccountId, autoAccepted: true })
const issued = fact('HoldIssuedRecorded', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: 9000 })
const held = fact('PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 })
const started = (attempt: number) => fact('AttemptStarted', { attempt, candidate: createCandidate(attempt) })
const asked = (attempt: number) => fact('ChannelOpenRequested', { attempt, openBefore: 7000 })
const named = (attempt: number, digit = attempt) => fact('OutpointAccepted', { attempt, outpoint: createOutpoint(digit) })
const seen = fact('FundingSeenRecorded', { outpoint: createOutpoint(1) })
const confirmed = fact('FundingConfirmedRecorded', { outpoint: createOutpoint(1), height: 120, channelId: '120x1x0' })
const opened = fact('ChannelOpened', { outpoint: createOutpoint(1), confirmations: 3 })
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
    ['SUCCESSFUL_PAYMENT', '120x1x0', 3, createOutpoint(1)],
  )
  assert.equal(view.attempts[0]?.status, 'opened')
})

test("evolveOrderStatus returns the status of the order's state machine after every transition", () => {
  const lifecycle = compileLifecycle<(typeof orderStatuses)[number] | 'NONE', OrderFact['type']>(orderMachine)
  assert.ok(lifecycle.edges.length > 100)
  for (const [from, type, to] of lifecycle.edges)
    assert.equal(evolveOrderStatus(from === 'NONE' ? undefined : from, type), to, `${type} in ${from}`)
})

describe('payment_status', () => {
  const status = (...facts: readonly OrderFact[]) => viewOf(placed(), ...facts).paymentStatus
  const lost = (lastHeight: boolean) => fact('SellerFailedToOpenChannel', { reason: 'late', blamed: true, lastHeight })
  test('is null before there is an invoice, also after the order ends', () => {
    assert.equal(status(accepted), null)
    assert.equal(status(fact('BuyerRejected', { reason: 'unreachable' })), null)
  })
  test('is pending with the invoice, and successful with the payment', () => {
    assert.equal(status(accepted, issued), 'PENDING_PAYMENT')
    assert.equal(status(accepted, issued, held), 'SUCCESSFUL_PAYMENT')
  })
  test('is failed if the order ends unpaid', () => {
    assert.equal(status(accepted, issued, fact('BuyerFailedToPay', { reason: 'expired' })), 'PAYMENT_FAILED')
    const late = [held, fact('BuyerFailedToPay', { reason: 'The invoice was not paid in time.' })]
    assert.equal(status(accepted, issued, ...late), 'PAYMENT_FAILED')
    assert.equal(status(accepted, issued, fact('AdminClosed', { by: 'op', reason: 'test' })), 'PAYMENT_FAILED')
  })
  test('does not change with a release, except with a release at the last height', () => {
    assert.equal(status(accepted, issued, held, started(1), lost(false)), 'SUCCESSFUL_PAYMENT')
    assert.equal(status(accepted, issued, held, started(1), lost(true)), 'HODL_INVOICE_TIMEOUT')
    assert.equal(
      status(accepted, issued, held, fact('SellerRejected', { reason: 'no capacity', record: null })),
      'SUCCESSFUL_PAYMENT',
    )
  })
})

test('a replaced seller reads SELLER_FAILED_TO_OPEN_CHANNEL, and the next seller has the current attempt', () => {
  const failed = fact('AttemptFailed', { attempt: 1, reason: 'The window passed.', blamed: true })
  const view = viewOf(placed(), accepted, issued, held, started(1), asked(1), failed, started(2), asked(2))
  assert.deepEqual(
    view.attempts.map(({ status }) => status),
    ['replaced', 'opening'],
  )
  const sales = toSaleRows(view)
  assert.deepEqual(
    sales.map((sale) => [sale.accountId, sale.attempt, sale.isCurrent, sale.actionNeeded, getSellerStatus(view, sale)]),
    [
      [createCandidate(1).sellerAccountId, 1, false, false, 'SELLER_FAILED_TO_OPEN_CHANNEL'],
      [createCandidate(2).sellerAccountId, 2, true, true, 'WAITING_FOR_CHANNEL_OPEN'],
    ],
  )
  // An accepted late outpoint makes the replaced seller the current seller again.
  const late = viewOf(placed(), accepted, issued, held, started(1), asked(1), failed, started(2), asked(2), named(1))
  assert.deepEqual(
    late.attempts.map(({ status }) => status),
    ['named', 'opening'],
  )
  assert.deepEqual(
    toSaleRows(late).map(({ attempt, isCurrent }) => [attempt, isCurrent]),
    [
      [1, true],
      [2, false],
    ],
  )
})

describe('a seller must', () => {
  const needed = (...facts: readonly OrderFact[]) => toSaleRows(viewOf(...facts)).map(({ actionNeeded }) => actionNeeded)
  const invoice = (state: 'Offered' | 'Taken' | 'Refused'): OrderFact =>
    state === 'Offered'
      ? fact('PayoutInvoiceSubmittedRecorded', {
          attempt: 1,
          request: 'lnbcrt2',
          paymentHash: 'b'.repeat(64),
          payee: createCandidate(1).sellerPubkey,
          amountMsat: '2500000',
          expiresAt: 99,
        })
      : state === 'Taken'
        ? fact('PayoutInvoiceAcceptedRecorded', { paymentHash: 'b'.repeat(64) })
        : fact('PayoutInvoiceRefusedRecorded', { paymentHash: 'b'.repeat(64), reason: 'used before' })
  test('accept a manual order', () => {
    assert.deepEqual(needed(placed(true)), [true])
    assert.deepEqual(needed(placed(true), accepted, invoice('Offered')), [false])
    assert.deepEqual(needed(placed(true), accepted, invoice('Offered'), invoice('Refused')), [true])
  })
  test('submit its own invoice if only the quoted seller has submitted one', () => {
    const shown = [placed(), accepted, issued, invoice('Offered'), invoice('Taken'), held] as const
    const next = fact('AttemptStarted', { attempt: 1, candidate: createCandidate(2) })
    const sale = [
      named(1),
      fact('SettlingStarted', { outpoint: createOutpoint(1), lastHeight: false }),
      fact('OrderValid', { settledAt: 5 }),
    ]
    assert.deepEqual(needed(...shown, next, asked(1), ...sale), [true])
    assert.deepEqual(needed(...shown, started(1), asked(1), ...sale), [false])
    // A verdict that arrives after the change of the seller does not make the old invoice usable.
    const withoutVerdict = shown.filter((one) => one.type !== 'PayoutInvoiceAcceptedRecorded')
    assert.deepEqual(needed(...withoutVerdict, next, invoice('Taken'), asked(1), ...sale), [true])
    assert.deepEqual(needed(...withoutVerdict, started(1), invoice('Taken'), asked(1), ...sale), [false])
  })
  test('submit an invoice of its new amount if it sells from another offer at another price', () => {
    const expensive = { ...createCandidate(1), offerId: '10000000-0000-4000-8000-00000000000a', sellerAmountMsat: '2700000' }
    const shown = [placed(), accepted, issued, invoice('Offered'), invoice('Taken'), held] as const
    const opening = [...shown, fact('AttemptStarted', { attempt: 1, candidate: expensive }), asked(1), named(1)]
    assert.deepEqual(needed(...opening), [true])
    const right = fact('PayoutInvoiceSubmittedRecorded', {
      attempt: 1,
      request: 'lnbcrt3',
      paymentHash: 'c'.repeat(64),
      payee: expensive.sellerPubkey,
      amountMsat: expensive.sellerAmountMsat,
      expiresAt: 99,
    })
    assert.deepEqual(needed(...opening, right), [false])
  })
  test('do nothing before the buyer has paid, and before the order requests the channel', () => {
    assert.deepEqual(needed(placed(), accepted, issued), [false])
    assert.deepEqual(needed(placed(), accepted, issued, held, started(1)), [false])
  })
  test('open the channel, and submit an invoice', () => {
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

test('an invoice awaits payment until it is paid, also if no attempt has started then', () => {
  const toPay = (...facts: readonly OrderFact[]) => isAwaitingPayment(viewOf(placed(), accepted, ...facts))
  assert.deepEqual([toPay(), toPay(issued), toPay(issued, held)], [false, true, false])
})

describe('an attempt has the same status in the view as in the state of the order service', () => {
  const reorged = fact('FundingReorgedRecorded', { outpoint: createOutpoint(1) })
  const failed = fact('AttemptFailed', { attempt: 1, reason: 'The window passed.', blamed: true })
  const closed = fact('AdminClosed', { by: 'op', reason: 'It was asked for.' })
  const unpaid = fact('BuyerFailedToPay', { reason: 'The invoice was not paid in time.' })
  const gaveUp = fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false })
  const opening = [placed(), accepted, issued, held, started(1), asked(1)] as const
  const second = [started(2), asked(2), fact('AttemptFailed', { attempt: 2, reason: 'The first has opened.', blamed: false })]
  test.each([
    ['after a re-organisation', [...sold.slice(0, 10), reorged], [null]],
    ['after a re-organisation and a new confirmation', [...sold.slice(0, 10), reorged, confirmed, opened], [null]],
    ['if an operator closes the order before the opening', [...opening.slice(0, 5), closed], ['It was asked for.']],
    ['if an operator closes the order during the opening', [...opening, closed], ['It was asked for.']],
    ['if an operator closes the order after the outpoint', [...opening, named(1), closed], ['It was asked for.']],
    ['if an operator closes the order after the channel opened', [...sold.slice(0, 10), closed], ['It was asked for.']],
    ['if the buyer failed to pay in time', [...opening, unpaid], ['The invoice was not paid in time.']],
    ['if no seller opened', [...opening, failed, started(2), asked(2), gaveUp], ['The window passed.', 'Nobody opened.']],
    ['if it had failed before', [...opening, failed, gaveUp], ['The window passed.']],
    ['if its late outpoint wins', [...opening, failed, ...second, named(1)], [null, 'The first has opened.']],
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

test('another accepted outpoint resets the channel id and confirmations of the first outpoint', () => {
  const view = viewOf(...sold.slice(0, 9), named(1, 2))
  assert.deepEqual(
    [view.status, view.outpoint, view.channelId, view.confirmations],
    ['SELLER_SENT_TRANSACTION', createOutpoint(2), null, 0],
  )
  assert.equal(view.outpoints[createOutpoint(2)]?.state, 'accepted')
})

test('a re-organisation resets the confirmations', () => {
  const view = viewOf(...sold.slice(0, 10), fact('FundingReorgedRecorded', { outpoint: createOutpoint(1) }))
  assert.deepEqual(
    [view.status, view.channelId, view.fundingHeight, view.confirmations],
    ['WAITING_FOR_ON_CHAIN_CONFIRMATION', null, null, 0],
  )
})

test('a refused outpoint has its reason until it is submitted again', () => {
  const offered = fact('OutpointSubmitted', {
    attempt: 1,
    outpoint: createOutpoint(1),
    attestation: createAttestation(createOutpoint(1)),
  })
  const refused = fact('OutpointRefused', { attempt: 1, outpoint: createOutpoint(1), reason: 'It serves another order.' })
  const before = [placed(), accepted, issued, held, started(1), asked(1)]
  assert.deepEqual(viewOf(...before, offered, refused).outpoints[createOutpoint(1)], {
    attempt: 1,
    state: 'refused',
    reason: 'It serves another order.',
  })
  assert.equal(viewOf(...before, offered, refused, offered).outpoints[createOutpoint(1)]?.state, 'submitted')
})

test('the start of the settlement clears a requested release', () => {
  const release = fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: 'vanished', blamed: true, by: null })
  const settling = fact('SettlingStarted', { outpoint: createOutpoint(1), lastHeight: false })
  assert.equal(viewOf(...sold.slice(0, 10), release).closing?.to, 'SELLER_FAILED_TO_SEND_SWAP')
  assert.equal(viewOf(...sold.slice(0, 10), release, settling).closing, null)
})
