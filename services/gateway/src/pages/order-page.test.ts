import { orderStatuses } from '@penstock/kernel/order-status.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import * as money from '../../../settlement/src/samples.contract.ts'
import type { StoredOrder } from '../read/orders.ts'
import { holdView, type HoldView } from '../views/hold-view.ts'
import { orderView, type OrderView } from '../views/order-view.ts'
import { grouped, orderPageOf, versionOf } from './order-page.ts'
import { timelineOf } from './timeline.ts'
import { words } from './words.ts'

const at = Date.parse('2027-01-31T12:00:00.000Z')
const HOUR = 3_600_000
const outpoint = outpointOf(7)
const id = '00000000-0000-4000-8000-000000000001'
const fact = <T extends OrderFact['type']>(type: T, data: Extract<OrderFact, { type: T }>['data']) =>
  ({ type, v: 1, data }) as OrderFact

const moment = { id: '0', revision: 0, position: 0n, at, commandId: '', correlation: '' }

const placed = fact('OrderPlaced', { ...orderTermsOf(), approveBefore: null })
const issued = fact('HoldIssued', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: at + HOUR })
const held = fact('PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 })
const started = (attempt: number) => fact('AttemptStarted', { attempt, candidate: candidateOf(attempt) })
const lost = fact('AttemptFailed', { attempt: 1, reason: 'Nothing came.', blamed: true })
const named = fact('OutpointNamed', { attempt: 1, outpoint })
const seen = fact('FundingSeen', { outpoint })
const confirmed = fact('FundingConfirmed', { outpoint, height: 120, channelId: '120x1x0' })
const reorged = fact('FundingReorged', { outpoint })
const opened = fact('ChannelOpened', { outpoint, confirmations: 3 })
const valid = fact('OrderValid', { settledAt: at })
const closing = fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'Asked for by the buyer.', blamed: false, by: 'ann' })
const ended = fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false })
const expired = fact('BuyerFailedToPay', { reason: 'The invoice expired unpaid.' })
const toSeen = [placed, issued, held, started(1), named, seen]

const fold = (facts: readonly OrderFact[]): OrderView =>
  facts.reduce<OrderView | undefined>(
    (before, one, revision) =>
      orderView(before, {
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
  orderPageOf({ order: fold(facts), hold, channel }, now)
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
/** The money as settlement's own stream tells it. */
const holdAfter = (...facts: readonly SettlementFact[]): HoldView =>
  facts.reduce<HoldView | undefined>(
    (view, one) => holdView(view, { ...moment, category: 'settlement', aggregateId: id, fact: one }),
    undefined,
  ) ?? assert.fail()

test('each status has words of its own', () => {
  assert.equal(new Set(orderStatuses.map((status) => words[status].title)).size, orderStatuses.length)
})

describe('stages', () => {
  const cases: readonly [string, readonly OrderFact[], number, string, string][] = [
    ['no invoice yet', [placed], at, 'approval', 'A seller was found'],
    ['to be paid', [placed, issued], at, 'pay', 'Pay to open your channel'],
    ['too late to pay, and not yet expired', [placed, issued], at + HOUR, 'late', 'The invoice has expired'],
    ['held, and no seller yet', [placed, issued, held], at, 'progress', 'Your payment is locked in'],
    ['held for longer than the invoice', [placed, issued, held], at + 2 * HOUR, 'progress', 'Your payment is locked in'],
    ['held', [placed, issued, held, started(1)], at + 2 * HOUR, 'progress', 'Your payment is locked in'],
    ['closing', [...toSeen, closing], at, 'progress', 'This order is being closed'],
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

test('where the money is when there is no channel', () => {
  assert.equal(page([placed, issued, expired]).money, 'Nothing was paid.')
  assert.equal(page([placed, issued, held, started(1), ended]).money, 'Your payment was released: it is back in your wallet.')
  assert.equal(page([placed, issued, held, started(1), ended]).reason, 'Nobody opened.')
  assert.equal(page([...toSeen, closing]).reason, 'Asked for by the buyer.')
  assert.equal(page(toSeen).money, null)
})

test("a payment that settlement has is not asked for again, nor called unpaid, before the order's own word", () => {
  for (const now of [at, at + 2 * HOUR])
    for (const facts of [money.toHeld, money.toSettling, money.toSettled]) {
      const shown = page([placed, issued], now, { hold: holdAfter(...facts) })
      assert.deepEqual(
        [shown.stage, shown.headline, shown.invoice, shown.money],
        ['progress', 'Your payment is locked in', null, null],
      )
    }
  const lateMoney = (...facts: readonly SettlementFact[]) =>
    page([placed, issued], at + HOUR, { hold: holdAfter(...facts) }).money
  assert.equal(lateMoney(...money.toOpen), 'Nothing was paid.')
  assert.equal(lateMoney(...money.toOpen, money.cancelRequested), 'Nothing was paid.')
  assert.equal(lateMoney(...money.toHeld, money.cancelRequested), 'Your payment is on its way back to your wallet.')
  assert.equal(
    lateMoney(...money.toHeld, money.cancelRequested, money.cancelled),
    'Your payment was released: it is back in your wallet.',
  )
})

test('what the watcher says of an outpoint that was replaced is not shown', () => {
  const channelId = (seen: string) =>
    page([...toSeen], at, { channel: channelAt(seen) }).details.find(({ name }) => name === 'Channel id')?.value
  assert.equal(channelId(outpoint), '119x1x0')
  assert.equal(channelId(outpointOf(8)), undefined)
})

test('confirmations are counted while blocks are waited for', () => {
  assert.deepEqual(page(toSeen).progress, { confirmations: 0, required: 3 })
  assert.deepEqual(page([...toSeen, confirmed]).progress, { confirmations: 1, required: 3 })
  assert.equal(page([...toSeen, confirmed, opened]).progress, null)
  // The market's own number, where fewer are asked for.
  const eager = fact('OrderPlaced', { ...orderTermsOf(), requiredConfirmations: 1, approveBefore: null })
  assert.deepEqual(page([eager, ...toSeen.slice(1), confirmed]).progress, { confirmations: 1, required: 3 })
})

describe('timeline', () => {
  const states = (facts: readonly OrderFact[]) => timelineOf(fold(facts)).map(({ state }) => state)

  test('what was, what is, what comes', () => {
    assert.deepEqual(states([placed, issued]), ['done', 'now', 'next', 'next', 'next', 'next', 'next', 'next'])
    assert.deepEqual(states([...toSeen, confirmed, opened, valid]), Array(8).fill('done'))
    assert.deepEqual(states([placed, issued, held, started(1), ended]), ['done', 'done', 'done', 'failed'])
  })
  test('a re-org goes back, and all of it stays to be read', () => {
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
  test('another seller is a note between the statuses', () => {
    const steps = timelineOf(fold([placed, issued, held, started(1), lost, started(2)]))
    assert.deepEqual(steps.map(({ state }) => state).slice(0, 4), ['done', 'done', 'now', 'note'])
  })
  test('a status that was told by an earlier clock stays behind the one that it follows', () => {
    const order = fold([placed, issued, held, started(1), named, seen])
    const [last] = order.statuses.slice(-1)
    assert.ok(last)
    const statuses = [...order.statuses.slice(0, -1), { ...last, at: at - 60_000 }]
    const shown = timelineOf({ ...order, statuses }).flatMap(({ status }) => status ?? [])
    assert.deepEqual(
      shown,
      order.statuses.map(({ status }) => status),
    )
  })
  test('names of statuses stand only beside what happened', () => {
    assert.deepEqual(
      timelineOf(fold([placed, issued])).flatMap(({ status }) => status ?? []),
      ['WAITING_FOR_SELLER_APPROVAL', 'WAITING_FOR_BUYER_PAYMENT'],
    )
  })
})

test('a page is old when anything that it shows is', () => {
  const order = fold(toSeen)
  const found = { order, hold: undefined, channel: undefined }
  const channel = channelAt(outpoint)
  assert.equal(versionOf(found), versionOf({ ...found }))
  assert.notEqual(versionOf(found), versionOf({ ...found, channel }))
  assert.notEqual(versionOf(found), versionOf({ ...found, order: fold([...toSeen, confirmed]) }))
})

test('numbers in groups of three', () => {
  assert.deepEqual(['5', '5000', '1678695'].map(grouped), ['5', '5,000', '1,678,695'])
})
