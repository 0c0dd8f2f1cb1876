import { expect, test } from 'vitest'
import type { Json } from '../../json.ts'
import { runChecks } from './checks.ts'
import type { PostRunData } from './post-run-data.ts'
import { type LoadOrder, parseInvoiceMsat, findAwaitedParty, toOrderStage } from '../orders/load-order.ts'

const PAID_MSAT = 5_000_000n
const SELLER = `02${'ab'.repeat(32)}`

const createOrder = (id: string, change: Partial<LoadOrder> = {}): LoadOrder => ({
  id,
  kind: 'buy',
  bearer: 'key',
  lspType: null,
  invoice: 'lnbcrt50u1x',
  status: 'VALID_CHANNEL_OPENING',
  timeout: null,
  stage: 'settled',
  paid: { hash: `hash-${id}`, amountMsat: PAID_MSAT },
  isPaymentUncertain: false,
  ...change,
})

const createPosting = (...entries: readonly (readonly [string, bigint])[]): Json => ({
  entries: entries.map(([account, amountMsat]) => ({ account, amountMsat: `${amountMsat}` })),
})
const soldReport = {
  status: 'VALID_CHANNEL_OPENING',
  seller_pubkey: SELLER,
  hold: { status: 'settled', settled_at: 'then', cancelled_at: null, expiry_height: 90 },
  payout: { state: 'SUCCEEDED', payee: SELLER, fee_msat: '10' },
  ledger: [
    createPosting(['received', PAID_MSAT], ['payable', -4_000_000n], ['platform-fee', -1_000_000n]),
    createPosting(['payable', 4_000_000n], ['routing-cost', 10n], ['paid-out', -4_000_010n]),
  ],
} satisfies Json
const createBalances = (marketMsat: bigint, inFlightMsat = 0n): Json => ({
  nodes: [{ alias: 'market', on_chain_msat: '0', channel_msat: `${marketMsat}` }],
  in_flight_msat: `${inFlightMsat}`,
  total_msat: '1000000000',
})

const returned = createOrder('b', { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', stage: 'held' })
const unpaid = createOrder('c', { status: 'WAITING_FOR_BUYER_PAYMENT', paid: null, kind: 'abandon', stage: 'ordered' })
const returnedReport = {
  status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
  hold: { status: 'cancelled', settled_at: null, cancelled_at: 'then', expiry_height: 90 },
  payout: { state: null },
  ledger: [],
} satisfies Json
const unpaidReport = {
  status: 'WAITING_FOR_BUYER_PAYMENT',
  hold: { status: 'open', settled_at: null, cancelled_at: null },
  ledger: [],
}

const passingData: PostRunData = {
  orders: [createOrder('a'), returned, unpaid],
  endedBy: 'itself',
  isUnfinishedAllowed: false,
  due: { arrived: 3, shed: 0, held: 0, unasked: 0, unsent: 0, isShedAllowed: false },
  isComplete: true,
  now: Date.parse('2026-01-01T00:00:00Z'),
  missing: [],
  reports: new Map<string, Json>([
    ['a', soldReport],
    ['b', returnedReport],
    ['c', unpaidReport],
  ]),
  audit: { streams: 3, events: 30, divergences: 0, ledger_balanced: true, first: null, log: { unproven: null } },
  parked: [],
  network: {
    before: createBalances(10_000_000n),
    after: createBalances(10_999_990n),
    height: 100,
    payments: new Map([
      ['hash-a', 'SUCCEEDED'],
      ['hash-b', 'FAILED'],
    ]),
    marketAlias: 'market',
  },
}

const listFailedDetails = (data: PostRunData): string =>
  runChecks(data)
    .filter(({ outcome }) => outcome === 'fail')
    .map(({ detail }) => detail)
    .join('\n')

test('correct data passes every check, and the details contain the amounts', () => {
  const checks = runChecks(passingData)
  expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
  expect(checks.map(({ detail }) => detail).join('\n')).toContain('10000000 msat paid = 5000000 settled + 5000000 returned')
  expect(checks.map(({ detail }) => detail).join('\n')).toContain('1 sold, 1 SUCCEEDED, 4000000 msat paid out')
})

const withNetwork = (change: object): PostRunData => ({
  ...passingData,
  network: passingData.network && { ...passingData.network, ...change },
})
const withReport = (id: string, change: object): PostRunData => ({
  ...passingData,
  reports: new Map(
    [...(passingData.reports ?? [])].map(([key, value]) => [key, key === id ? { ...(value as object), ...change } : value]),
  ),
})

test.each<[title: string, data: PostRunData, detail: RegExp]>([
  ['a run without orders', { ...passingData, orders: [], reports: new Map() }, /no order was placed/],
  [
    'a status that waits for no party',
    { ...passingData, orders: [createOrder('a', { status: 'LIMBO' })] },
    /order a is LIMBO, which waits for no known party/,
  ],
  [
    'an order past its deadline',
    { ...passingData, orders: [...passingData.orders.slice(0, 2), { ...unpaid, timeout: '2025-12-31T23:00:00Z' }] },
    /order c is still WAITING_FOR_BUYER_PAYMENT after its deadline/,
  ],
  [
    'a sent payment that the order does not show',
    {
      ...passingData,
      orders: [createOrder('a', { status: 'WAITING_FOR_BUYER_PAYMENT' })],
      network: withNetwork({ payments: new Map([['hash-a', 'IN_FLIGHT']]) }).network,
    },
    /waits for its payment, which was sent/,
  ],
  [
    'a sold order whose payment failed',
    withNetwork({
      payments: new Map([
        ['hash-a', 'FAILED'],
        ['hash-b', 'FAILED'],
      ]),
    }),
    /order a is VALID_CHANNEL_OPENING, and its payment is FAILED/,
  ],
  [
    'an unsold order whose payment was settled',
    withNetwork({
      payments: new Map([
        ['hash-a', 'SUCCEEDED'],
        ['hash-b', 'SUCCEEDED'],
      ]),
    }),
    /order b .* its payment is SUCCEEDED/,
  ],
  [
    'a failed order whose payment is still held',
    withNetwork({
      payments: new Map([
        ['hash-a', 'SUCCEEDED'],
        ['hash-b', 'IN_FLIGHT'],
      ]),
    }),
    /order b .* its payment is IN_FLIGHT/,
  ],
  [
    'a hold that is settled and cancelled',
    withReport('a', { hold: { ...soldReport.hold, cancelled_at: 'too' } }),
    /order a is settled and cancelled/,
  ],
  ['a settlement without a payment', withReport('c', { hold: { ...soldReport.hold } }), /order c is settled without a payment/],
  [
    'a ledger with another amount than the payment',
    withReport('a', { ledger: soldReport.ledger.slice(1) }),
    /order a was paid 5000000 msat, and its ledger received 0/,
  ],
  [
    'a sold order with an unpaid seller',
    withReport('a', { payout: { state: 'OPEN' }, ledger: soldReport.ledger.slice(0, 1) }),
    /seller of order a is not paid: OPEN/,
  ],
  [
    'a payout to a node that is not the seller',
    withReport('a', { payout: { ...soldReport.payout, payee: 'me' } }),
    /paid another node than its seller/,
  ],
  ['a debt after the payout', withReport('a', { ledger: soldReport.ledger.slice(0, 1) }), /still owes 4000000 msat/],
  [
    'a payment that is held past its last height',
    withReport('b', { hold: { ...returnedReport.hold, status: 'held', expiry_height: 124 } }),
    /order b holds its payment at height 100, last height 100/,
  ],
  [
    'a parked key',
    { ...passingData, parked: [{ group: 'order', topic: 'order.commands.gateway', key: 'k' }] },
    /order parked order.commands.gateway k/,
  ],
  [
    'an audit with a divergence',
    {
      ...passingData,
      audit: { divergences: 1, ledger_balanced: false, first: { stream: 'order-a', what: 'the state hash differs' } },
    },
    /order-a diverges: the state hash differs; the log heads do not prove the end of the log: .*; the ledger does not balance/,
  ],
  [
    'a log with an unproven end',
    { ...passingData, audit: { divergences: 0, ledger_balanced: true, first: null, log: { unproven: 'late' } } },
    /^the log heads do not prove the end of the log/,
  ],
  [
    'a changed total of all balances',
    withNetwork({ after: { ...(createBalances(10_999_990n) as object), total_msat: '1' } }),
    /all nodes had 1000000000 msat before the run and 1 msat after it/,
  ],
  [
    'a market node that gained more than its ledgers',
    withNetwork({ after: createBalances(12_000_000n) }),
    /gained 2000000 msat, and the ledgers of these orders say 999990/,
  ],
  ['an amount in flight', withNetwork({ after: createBalances(10_999_990n, 7n) }), /7 msat are still in flight/],
  [
    'a request without an answer',
    { ...passingData, missing: ['the audit: no answer came in time'] },
    /the audit: no answer came in time/,
  ],
])('%s fails a check, whose detail describes it', (_, data, detail) => {
  expect(listFailedDetails(data)).toMatch(detail)
})

test('checks that need the operator token are skipped with that reason if no token is given', () => {
  const checks = runChecks({ ...passingData, reports: null, audit: null, parked: null, network: null })
  const skipped = checks.filter(({ outcome }) => outcome === 'skipped')
  expect(skipped).toHaveLength(6)
  expect(skipped.every(({ detail }) => /operator token/.test(detail))).toBe(true)
})

test('a payment may be held until 24 blocks before its HTLCs expire', () => {
  expect(listFailedDetails(withReport('b', { hold: { ...returnedReport.hold, status: 'held', expiry_height: 125 } }))).toBe('')
})

test('paid orders that are unfinished at the drain limit fail the run, unless --allow-unfinished is given', () => {
  const stuck = createOrder('d', { status: 'ON_CHAIN_CONFIRMATION', stage: 'opening' })
  const unfinishedData: PostRunData = {
    ...passingData,
    orders: [...passingData.orders, stuck],
    isComplete: false,
    endedBy: 'drain limit',
  }
  expect(listFailedDetails(unfinishedData)).toBe(
    'unfinished paid orders at the drain limit: 1, whose remaining steps are missing from the latencies; ' +
      'order d is ON_CHAIN_CONFIRMATION, and waits for the chain, to confirm',
  )
  const allowed = { ...unfinishedData, isUnfinishedAllowed: true }
  expect(listFailedDetails(allowed)).toBe('')
  expect(runChecks(allowed).find(({ name }) => name === 'Every paid order has ended')?.detail).toMatch(
    /^unfinished paid orders at the drain limit: 1, .*--allow-unfinished allows it/,
  )
  expect(listFailedDetails({ ...unfinishedData, endedBy: 'interrupt' })).toBe('')
  expect(listFailedDetails({ ...unfinishedData, orders: passingData.orders })).toBe('')
})

test('due orders and requests that were never sent fail the run, unless --allow-shed is given', () => {
  const { due } = passingData
  expect(listFailedDetails({ ...passingData, due: { ...due, arrived: 20, shed: 17 } })).toBe(
    '17 of the 20 due orders are missing from the latencies: 17 shed because too many were in flight',
  )
  expect(listFailedDetails({ ...passingData, due: { ...due, arrived: 4, held: 1 } })).toMatch(
    /^1 of the 4 .* 1 held back because the market requested a pause/,
  )
  expect(listFailedDetails({ ...passingData, due: { ...due, unasked: 6 } })).toBe(
    '6 polls of get_order held back because the market requested a pause',
  )
  expect(listFailedDetails({ ...passingData, due: { ...due, unsent: 2 } })).toMatch(
    /^2 requests never sent because none of this program's connections/,
  )
  const allowed = { ...passingData, due: { arrived: 20, shed: 16, held: 1, unasked: 6, unsent: 0, isShedAllowed: true } }
  expect(listFailedDetails(allowed)).toBe('')
  expect(runChecks(allowed).find(({ name }) => name === 'Every due order and request was sent')).toMatchObject({
    outcome: 'pass',
    detail: expect.stringMatching(
      /^17 of the 20 .* 16 shed.*, 1 held back.*; 6 polls of get_order .*--allow-shed allows it$/,
    ) as unknown,
  })
})

test('an interrupted run may have unfinished orders and payouts', () => {
  const data = withReport('a', { payout: { state: 'OPEN' }, ledger: soldReport.ledger.slice(0, 1) })
  expect(listFailedDetails({ ...data, isComplete: false, endedBy: 'interrupt' })).toBe('')
})

test.each([
  ['lnbcrt50u1pxyz', 5_000_000n],
  ['LNBC1M1PXYZ', 100_000_000n],
  ['lnbc21pxyz', 200_000_000_000n],
  ['lntb2500n1pxyz', 250_000n],
  ['lnbc10p1pxyz', 1n],
  ['lnbc5p1pxyz', null],
  ['lnbcrt1pxyz', null],
  ['nonsense', null],
])('parseInvoiceMsat reads %s as %s msat', (invoice, msat) => expect(parseInvoiceMsat(invoice)).toBe(msat))

test('the states of LSPS1 map to order stages, and an unpaid LSPS1 order waits for the buyer', () => {
  expect(
    ['CREATED EXPECT_PAYMENT', 'CREATED HOLD', 'COMPLETED HOLD', 'COMPLETED PAID', 'FAILED REFUNDED'].map(toOrderStage),
  ).toEqual([undefined, 'held', 'opening', 'settled', undefined])
  expect(findAwaitedParty({ status: 'CREATED EXPECT_PAYMENT' })).toBe('the buyer, to pay')
})
