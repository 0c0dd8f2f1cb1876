import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { allChecks } from './checks.ts'
import type { Evidence } from './evidence.ts'
import { type LoadOrder, msatOf, partyOf, stageOf } from './order.ts'

const PAID_MSAT = 5_000_000n
const SELLER = `02${'ab'.repeat(32)}`

const orderOf = (id: string, change: Partial<LoadOrder> = {}): LoadOrder => ({
  id,
  kind: 'buy',
  bearer: 'key',
  lspType: null,
  invoice: 'lnbcrt50u1x',
  status: 'VALID_CHANNEL_OPENING',
  timeout: null,
  stage: 'settled',
  paid: { hash: `hash-${id}`, amountMsat: PAID_MSAT },
  isPaymentUnsure: false,
  ...change,
})

const posting = (...entries: readonly (readonly [string, bigint])[]): Json => ({
  entries: entries.map(([account, amountMsat]) => ({ account, amountMsat: `${amountMsat}` })),
})
const soldReport = {
  status: 'VALID_CHANNEL_OPENING',
  seller_pubkey: SELLER,
  hold: { status: 'settled', settled_at: 'then', cancelled_at: null, expiry_height: 90 },
  payout: { state: 'SUCCEEDED', payee: SELLER, fee_msat: '10' },
  ledger: [
    posting(['received', PAID_MSAT], ['payable', -4_000_000n], ['platform-fee', -1_000_000n]),
    posting(['payable', 4_000_000n], ['routing-cost', 10n], ['paid-out', -4_000_010n]),
  ],
} satisfies Json
const balances = (marketMsat: bigint, inFlightMsat = 0n): Json => ({
  nodes: [{ alias: 'market', on_chain_msat: '0', channel_msat: `${marketMsat}` }],
  in_flight_msat: `${inFlightMsat}`,
  total_msat: '1000000000',
})

const returned = orderOf('b', { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', stage: 'held' })
const unpaid = orderOf('c', { status: 'WAITING_FOR_BUYER_PAYMENT', paid: null, kind: 'abandon', stage: 'ordered' })
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

const good: Evidence = {
  orders: [orderOf('a'), returned, unpaid],
  endedBy: 'itself',
  isUnfinishedAllowed: false,
  due: { arrived: 3, shed: 0, held: 0, unasked: 0, unsent: 0, isShedAllowed: false },
  isWhole: true,
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
    before: balances(10_000_000n),
    after: balances(10_999_990n),
    height: 100,
    payments: new Map([
      ['hash-a', 'SUCCEEDED'],
      ['hash-b', 'FAILED'],
    ]),
    marketAlias: 'market',
  },
}

const failing = (evidence: Evidence): string =>
  allChecks(evidence)
    .filter(({ outcome }) => outcome === 'fail')
    .map(({ detail }) => detail)
    .join('\n')

test('what is right passes, with its figures', () => {
  const checks = allChecks(good)
  expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
  expect(checks.map(({ detail }) => detail).join('\n')).toContain('10000000 msat paid = 5000000 settled + 5000000 returned')
  expect(checks.map(({ detail }) => detail).join('\n')).toContain('1 sold, 1 SUCCEEDED, 4000000 msat paid out')
})

const network = (change: object): Evidence => ({ ...good, network: good.network && { ...good.network, ...change } })
const report = (id: string, change: object): Evidence => ({
  ...good,
  reports: new Map(
    [...(good.reports ?? [])].map(([key, value]) => [key, key === id ? { ...(value as object), ...change } : value]),
  ),
})

test.each<[what: string, evidence: Evidence, detail: RegExp]>([
  ['no order', { ...good, orders: [], reports: new Map() }, /not one order was placed/],
  [
    'a status without a party',
    { ...good, orders: [orderOf('a', { status: 'LIMBO' })] },
    /order a is LIMBO, which waits for nobody/,
  ],
  [
    'a wait that is over',
    { ...good, orders: [...good.orders.slice(0, 2), { ...unpaid, timeout: '2025-12-31T23:00:00Z' }] },
    /order c is WAITING_FOR_BUYER_PAYMENT, and its time ended/,
  ],
  [
    'a payment that nobody sees',
    {
      ...good,
      orders: [orderOf('a', { status: 'WAITING_FOR_BUYER_PAYMENT' })],
      network: network({ payments: new Map([['hash-a', 'IN_FLIGHT']]) }).network,
    },
    /waits for its payment, which was sent/,
  ],
  [
    'sold and given back',
    network({
      payments: new Map([
        ['hash-a', 'FAILED'],
        ['hash-b', 'FAILED'],
      ]),
    }),
    /order a is VALID_CHANNEL_OPENING, and its payment FAILED/,
  ],
  [
    'taken without a channel',
    network({
      payments: new Map([
        ['hash-a', 'SUCCEEDED'],
        ['hash-b', 'SUCCEEDED'],
      ]),
    }),
    /order b .* its payment SUCCEEDED/,
  ],
  [
    'kept when it ended',
    network({
      payments: new Map([
        ['hash-a', 'SUCCEEDED'],
        ['hash-b', 'IN_FLIGHT'],
      ]),
    }),
    /order b .* its payment IN_FLIGHT/,
  ],
  [
    'settled and cancelled',
    report('a', { hold: { ...soldReport.hold, cancelled_at: 'too' } }),
    /order a is settled and cancelled/,
  ],
  ['settled and never paid', report('c', { hold: { ...soldReport.hold } }), /order c is settled, and nobody has paid it/],
  [
    'received another amount',
    report('a', { ledger: soldReport.ledger.slice(1) }),
    /order a was paid 5000000 msat, and its ledger received 0/,
  ],
  [
    'a seller unpaid',
    report('a', { payout: { state: 'OPEN' }, ledger: soldReport.ledger.slice(0, 1) }),
    /seller of order a is not paid: OPEN/,
  ],
  ['paid somebody else', report('a', { payout: { ...soldReport.payout, payee: 'me' } }), /paid somebody else than its seller/],
  ['owes on', report('a', { ledger: soldReport.ledger.slice(0, 1) }), /still owes 4000000 msat/],
  [
    'held too long',
    report('b', { hold: { ...returnedReport.hold, status: 'held', expiry_height: 124 } }),
    /order b holds its payment at height 100, and may until 100/,
  ],
  ['a parked key', { ...good, parked: [{ group: 'order', topic: 'order.commands', key: 'k' }] }, /order parked order.commands k/],
  [
    'an audit that finds something',
    { ...good, audit: { divergences: 1, ledger_balanced: false, first: { stream: 'order-a', what: 'the state hash differs' } } },
    /order-a diverges: the state hash differs; the log heads do not prove the end of the log: .*; the ledger does not balance/,
  ],
  [
    'a log whose end nothing proves',
    { ...good, audit: { divergences: 0, ledger_balanced: true, first: null, log: { unproven: 'late' } } },
    /^the log heads do not prove the end of the log/,
  ],
  [
    'money from nowhere',
    network({ after: { ...(balances(10_999_990n) as object), total_msat: '1' } }),
    /all nodes together had 1000000000 msat, and have 1/,
  ],
  [
    'a market that kept more',
    network({ after: balances(12_000_000n) }),
    /gained 2000000 msat, and the ledgers of these orders say 999990/,
  ],
  ['what hangs', network({ after: balances(10_999_990n, 7n) }), /7 msat still hang/],
  [
    'a question without an answer',
    { ...good, missing: ['the audit: no answer came in time'] },
    /the audit: no answer came in time/,
  ],
])('%s fails, and is named', (_, evidence, detail) => {
  expect(failing(evidence)).toMatch(detail)
})

test('without the operator token, what needs it is skipped and says so', () => {
  const checks = allChecks({ ...good, reports: null, audit: null, parked: null, network: null })
  const skipped = checks.filter(({ outcome }) => outcome === 'skipped')
  expect(skipped).toHaveLength(6)
  expect(skipped.every(({ detail }) => /operator token/.test(detail))).toBe(true)
})

test('a payment is held for no block longer than the market promises: 24 before its HTLCs run out', () => {
  expect(failing(report('b', { hold: { ...returnedReport.hold, status: 'held', expiry_height: 125 } }))).toBe('')
})

test('paid orders that the drain limit left under way fail the run, and say what the latencies lack', () => {
  const stuck = orderOf('d', { status: 'ON_CHAIN_CONFIRMATION', stage: 'opening' })
  const left: Evidence = { ...good, orders: [...good.orders, stuck], isWhole: false, endedBy: 'drain limit' }
  expect(failing(left)).toBe(
    'paid orders under way at the drain limit: 1, and the latencies lack what was still to come of them; ' +
      'order d is ON_CHAIN_CONFIRMATION, and waits for the chain, to confirm',
  )
  const allowed = { ...left, isUnfinishedAllowed: true }
  expect(failing(allowed)).toBe('')
  expect(allChecks(allowed).find(({ name }) => name === 'Every paid order came to its end')?.detail).toMatch(
    /^paid orders under way at the drain limit: 1, .*--allow-unfinished allows it/,
  )
  expect(failing({ ...left, endedBy: 'interrupt' })).toBe('')
  expect(failing({ ...left, orders: good.orders })).toBe('')
})

test('orders and questions that were due and never sent fail the run, whether it was this program or the market that left them out', () => {
  const { due } = good
  expect(failing({ ...good, due: { ...due, arrived: 20, shed: 17 } })).toBe(
    '17 of the 20 orders that were due are in no latency: 17 were shed, since too many were under way',
  )
  expect(failing({ ...good, due: { ...due, arrived: 4, held: 1 } })).toMatch(/^1 of the 4 .* 1 held back, since the market asked/)
  expect(failing({ ...good, due: { ...due, unasked: 6 } })).toBe(
    "6 of get_order's beats were held back, since the market asked for a pause",
  )
  expect(failing({ ...good, due: { ...due, unsent: 2 } })).toMatch(
    /^2 requests never left, since none of this program's connections/,
  )
  const allowed = { ...good, due: { arrived: 20, shed: 16, held: 1, unasked: 6, unsent: 0, isShedAllowed: true } }
  expect(failing(allowed)).toBe('')
  expect(allChecks(allowed).find(({ name }) => name === 'All that was due was sent')).toMatchObject({
    outcome: 'pass',
    detail: expect.stringMatching(
      /^17 of the 20 .* 16 were shed.*, 1 held back.*; 6 of get_order's beats .*--allow-shed allows it$/,
    ) as unknown,
  })
})

test('a run that was cut short may have orders and payouts under way', () => {
  const evidence = report('a', { payout: { state: 'OPEN' }, ledger: soldReport.ledger.slice(0, 1) })
  expect(failing({ ...evidence, isWhole: false, endedBy: 'interrupt' })).toBe('')
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
])('%s is over %s msat', (invoice, msat) => expect(msatOf(invoice)).toBe(msat))

test('LSPS1 says the same in other words', () => {
  expect(['CREATED EXPECT_PAYMENT', 'CREATED HOLD', 'COMPLETED HOLD', 'COMPLETED PAID', 'FAILED REFUNDED'].map(stageOf)).toEqual([
    undefined,
    'held',
    'opening',
    'settled',
    undefined,
  ])
  expect(partyOf({ status: 'CREATED EXPECT_PAYMENT' })).toBe('the buyer, to pay')
})
