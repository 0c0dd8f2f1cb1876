import { orderStatuses } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import * as money from '../../../settlement/src/samples.fixture.ts'
import type { StoredOrder } from '../market/read/orders.ts'
import { evolveHoldView, type HoldView } from '../market/views/hold-view.ts'
import { evolveOrderView, type OrderView } from '../market/views/order-view.ts'
import { groupDigits, buildOrderPage, computePageVersion } from './order-page.ts'
import { buildTimeline } from './timeline.ts'
import { statusTexts } from './status-text.ts'

const at = Date.parse('2027-01-31T12:00:00.000Z')
const HOUR = 3_600_000
const outpoint = createOutpoint(7)
const id = '00000000-0000-4000-8000-000000000001'
const fact = <T extends OrderFact['type']>(type: T, data: Extract<OrderFact, { type: T }>['data']) =>
  ({ type, v: 1, data }) as OrderFact

const moment = { id: '0', revision: 0, position: 0n, at, commandId: '', correlation: '' }

const placed = fact('OrderPlaced', { ...createOrderTerms(), approveBefore: null })
const issued = fact('HoldIssuedRecorded', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: at + HOUR })
const held = fact('PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 })
const started = (attempt: number) => fact('AttemptStarted', { attempt, candidate: createCandidate(attempt) })
const lost = fact('AttemptFailed', { attempt: 1, reason: 'Nothing came.', blamed: true })
const named = fact('OutpointAccepted', { attempt: 1, outpoint })
const seen = fact('FundingSeenRecorded', { outpoint })
const confirmed = fact('FundingConfirmedRecorded', { outpoint, height: 120, channelId: '120x1x0' })
const reorged = fact('FundingReorgedRecorded', { outpoint })
const opened = fact('ChannelOpened', { outpoint, confirmations: 3 })
const valid = fact('OrderValid', { settledAt: at })
const closing = fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'Asked for by the buyer.', blamed: false, by: 'ann' })
const ended = fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false })
const expired = fact('BuyerFailedToPay', { reason: 'The invoice expired unpaid.' })
const toSeen = [placed, issued, held, started(1), named, seen]

const fold = (facts: readonly OrderFact[]): OrderView =>
  facts.reduce<OrderView | undefined>(
    (before, one, revision) =>
      evolveOrderView(before, {
        id: `${revision}`,
        category: 'order',
        aggregateId: id,
        revision,
        position: 0n,
        at: at + revision * 1000,
        commandId: '',
        correlation: '',
        fact: one,
      }),
    undefined,
  ) ?? assert.fail()
const page = (facts: readonly OrderFact[], now = at, { hold, channel }: Partial<StoredOrder> = {}) =>
  buildOrderPage({ order: fold(facts), hold, channel }, now)
const channelAt = (seen: string) => ({
  outpoint: seen,
  confirmations: 2,
  tipHeight: 1,
  channelId: '119x1x0',
  fundingHeight: 1,
  proven: null,
  leaseEndsAtHeight: null,
  lease: null,
})
/** Folds facts of settlement to the view of a hold. */
const holdAfter = (...facts: readonly SettlementFact[]): HoldView =>
  facts.reduce<HoldView | undefined>(
    (view, one) => evolveHoldView(view, { ...moment, category: 'settlement', aggregateId: id, fact: one }),
    undefined,
  ) ?? assert.fail()

test('each status has its own title', () => {
  assert.equal(new Set(orderStatuses.map((status) => statusTexts[status].title)).size, orderStatuses.length)
})

describe('the page shows the stage of an order', () => {
  const cases: readonly [string, readonly OrderFact[], number, string, string][] = [
    ['no invoice yet', [placed], at, 'approval', 'A seller was found'],
    ['to be paid', [placed, issued], at, 'pay', 'Pay to open your channel'],
    ['too late to pay, and not yet expired', [placed, issued], at + HOUR, 'late', 'The invoice has expired'],
    ['held, and no seller yet', [placed, issued, held], at, 'progress', 'Your payment is locked in'],
    ['held for longer than the invoice', [placed, issued, held], at + 2 * HOUR, 'progress', 'Your payment is locked in'],
    ['held', [placed, issued, held, started(1)], at + 2 * HOUR, 'progress', 'Your payment is locked in'],
    ['being released', [...toSeen, closing], at, 'progress', 'This order is being closed'],
    ['valid', [...toSeen, confirmed, opened, valid], at, 'done', 'Your channel is ready'],
    ['ended', [placed, issued, held, started(1), ended], at, 'ended', 'No channel was opened'],
  ]
  test.each(cases)('%s', (_, facts, now, stage, headline) => {
    const shown = page(facts, now)
    assert.deepEqual([shown.stage, shown.headline], [stage, headline])
    assert.equal(shown.invoice, stage === 'pay' ? 'lnbcrt1' : null)
    assert.equal(shown.isFinal, stage === 'done' || stage === 'ended')
    assert.ok(!JSON.stringify(shown).includes(id))
  })
})

test('the page says what happened to the payment if there is no channel', () => {
  assert.equal(page([placed, issued, expired]).money, 'Nothing was paid.')
  assert.equal(page([placed, issued, held, started(1), ended]).money, 'Your payment was released: it is back in your wallet.')
  assert.equal(page([placed, issued, held, started(1), ended]).reason, 'Nobody opened.')
  assert.equal(page([...toSeen, closing]).reason, 'Asked for by the buyer.')
  assert.equal(page(toSeen).money, null)
})

test('a payment that only settlement has recorded is neither requested again nor called unpaid', () => {
  for (const now of [at, at + 2 * HOUR])
    for (const facts of [money.heldHistory, money.settlingHistory, money.settledHistory]) {
      const shown = page([placed, issued], now, { hold: holdAfter(...facts) })
      assert.deepEqual(
        [shown.stage, shown.headline, shown.invoice, shown.money],
        ['progress', 'Your payment is locked in', null, null],
      )
    }
  const lateMoney = (...facts: readonly SettlementFact[]) =>
    page([placed, issued], at + HOUR, { hold: holdAfter(...facts) }).money
  assert.equal(lateMoney(...money.openHistory), 'Nothing was paid.')
  assert.equal(lateMoney(...money.openHistory, money.cancelRequestedFact), 'Nothing was paid.')
  assert.equal(lateMoney(...money.heldHistory, money.cancelRequestedFact), 'Your payment is on its way back to your wallet.')
  assert.equal(
    lateMoney(...money.heldHistory, money.cancelRequestedFact, money.holdCancelledFact),
    'Your payment was released: it is back in your wallet.',
  )
})

test('the page omits the channel id of a replaced outpoint', () => {
  const channelId = (seen: string) =>
    page([...toSeen], at, { channel: channelAt(seen) }).details.find(({ name }) => name === 'Channel id')?.value
  assert.equal(channelId(outpoint), '119x1x0')
  assert.equal(channelId(createOutpoint(8)), undefined)
})

test('the page counts confirmations while the order waits for them', () => {
  assert.deepEqual(page(toSeen).progress, { confirmations: 0, required: 3 })
  assert.deepEqual(page([...toSeen, confirmed]).progress, { confirmations: 1, required: 3 })
  assert.equal(page([...toSeen, confirmed, opened]).progress, null)
  // The number of the policy applies if the order requires fewer confirmations.
  const eager = fact('OrderPlaced', { ...createOrderTerms(), requiredConfirmations: 1, approveBefore: null })
  assert.deepEqual(page([eager, ...toSeen.slice(1), confirmed]).progress, { confirmations: 1, required: 3 })
})

describe('timeline', () => {
  const states = (facts: readonly OrderFact[]) => buildTimeline(fold(facts)).map(({ state }) => state)

  test('has steps that are done, current, ahead or failed', () => {
    assert.deepEqual(states([placed, issued]), ['done', 'now', 'next', 'next', 'next', 'next', 'next', 'next'])
    assert.deepEqual(states([...toSeen, confirmed, opened, valid]), Array(8).fill('done'))
    assert.deepEqual(states([placed, issued, held, started(1), ended]), ['done', 'done', 'done', 'failed'])
  })
  test('keeps all earlier steps after a re-organisation', () => {
    assert.deepEqual(states([...toSeen, confirmed, reorged]), [
      'done',
      'done',
      'done',
      'done',
      'done',
      'done',
      'now',
      'next',
      'next',
      'next',
    ])
  })
  test('has a note for another seller between the statuses', () => {
    const steps = buildTimeline(fold([placed, issued, held, started(1), lost, started(2)]))
    assert.deepEqual(steps.map(({ state }) => state).slice(0, 4), ['done', 'done', 'now', 'note'])
  })
  test('keeps the recorded order of statuses if a later status has an earlier timestamp', () => {
    const order = fold([placed, issued, held, started(1), named, seen])
    const [last] = order.statuses.slice(-1)
    assert.ok(last)
    const statuses = [...order.statuses.slice(0, -1), { ...last, at: at - 60_000 }]
    const shown = buildTimeline({ ...order, statuses }).flatMap(({ status }) => status ?? [])
    assert.deepEqual(
      shown,
      order.statuses.map(({ status }) => status),
    )
  })
  test('gives a status only to past and current steps', () => {
    assert.deepEqual(
      buildTimeline(fold([placed, issued])).flatMap(({ status }) => status ?? []),
      ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT'],
    )
  })
})

test('the version of a page changes with the data that the page shows', () => {
  const order = fold(toSeen)
  const found = { order, hold: undefined, channel: undefined }
  const channel = channelAt(outpoint)
  assert.equal(computePageVersion(found), computePageVersion({ ...found }))
  assert.notEqual(computePageVersion(found), computePageVersion({ ...found, channel }))
  assert.notEqual(computePageVersion(found), computePageVersion({ ...found, order: fold([...toSeen, confirmed]) }))
})

test('numbers have groups of three digits', () => {
  assert.deepEqual(['5', '5000', '1678695'].map(groupDigits), ['5', '5,000', '1,678,695'])
})
