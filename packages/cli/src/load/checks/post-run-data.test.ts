import { expect, test } from 'vitest'
import type { Json } from '../../json.ts'
import { checkNetworkBalances } from './balance-checks.ts'
import { openDrain } from './drain.ts'
import { collectPostRunData } from './post-run-data.ts'
import type { LoadMarket, OperatorApi } from '../market/load-market.ts'
import { checkSellers } from './money-checks.ts'
import type { LoadOrder } from '../orders/load-order.ts'
import { createVirtualRun } from '../virtual-run.fixture.ts'

const SELLER = '02ab'
const order: LoadOrder = {
  id: 'one',
  kind: 'buy',
  bearer: null,
  lspType: null,
  invoice: 'lnbcrt50u1x',
  status: 'VALID_CHANNEL_OPENING',
  timeout: null,
  stage: 'settled',
  paid: { hash: 'ab', amountMsat: 5000n },
  isPaymentUncertain: false,
}
const sale = { posting: 'sale', entries: createEntries({ received: 5000, payable: -4000, 'platform-fee': -1000 }) }
const payout = { posting: 'payout', entries: createEntries({ payable: 4000, 'paid-out': -4000 }) }
function createEntries(amounts: Readonly<Record<string, number>>): Json {
  return Object.entries(amounts).map(([account, amount]) => ({ account, amountMsat: `${amount}` }))
}
const createReport = (state: string, ...ledger: readonly Json[]): Json => ({
  status: 'VALID_CHANNEL_OPENING',
  seller_pubkey: SELLER,
  payout: { state, payee: SELLER },
  hold: { status: 'settled' },
  ledger,
})
const createBalances = (marketMsat: number): Json => ({
  total_msat: '100000',
  in_flight_msat: '0',
  nodes: [{ alias: 'market', on_chain_msat: '0', channel_msat: `${marketMsat}` }],
})

/** @param answers the answers to successive requests; the last one repeats */
async function runMoneyChecks(answers: { readonly reports: readonly Json[]; readonly balances: readonly Json[] }) {
  const counts = { reports: 0, balances: 0 }
  const next = (kind: 'reports' | 'balances'): Json => answers[kind][Math.min(counts[kind]++, answers[kind].length - 1)] ?? null
  const operator: OperatorApi = async (_, path) => {
    if (path.startsWith('/orders/')) return next('reports')
    if (path === '/sim/balances') return next('balances')
    if (path === '/sim/mine') return { height: 100 }
    if (path.startsWith('/sim/payments/')) return { state: 'SUCCEEDED' }
    return path === '/parked' ? [] : null
  }
  const rejectCall = (): never => {
    throw new Error('no request of a buyer is expected')
  }
  const market: LoadMarket = { call: rejectCall, graphql: rejectCall, lsps1: rejectCall, page: rejectCall, operator }
  const interrupt = new AbortController()
  const time = createVirtualRun()
  const drain = openDrain(interrupt.signal, time.clock)
  const collecting = collectPostRunData(market, {
    targets: { buyers: [], simulation: { operator, sellers: [], spare: null, marketAlias: 'market' } },
    orders: [order],
    before: createBalances(0),
    endedBy: 'itself',
    isUnfinishedAllowed: false,
    due: { arrived: 1, shed: 0, held: 0, unasked: 0, unsent: 0, isShedAllowed: false },
    payoutWaitMs: 10_000,
    interrupt: interrupt.signal,
    drain,
    clock: time.clock,
  })
  const data = await time.complete(collecting)
  drain.stop()
  return [checkSellers(data), checkNetworkBalances(data)].map(({ outcome, detail }) => `${outcome}: ${detail}`)
}

test('a withheld payout that is released between the reads of orders and balances is not a fault', async () => {
  const held = createReport('WITHHELD', sale)
  const found = await runMoneyChecks({
    reports: [held, createReport('SUCCEEDED', sale, payout)],
    balances: [createBalances(1000), createBalances(1000)],
  })
  expect(found).toEqual([
    'pass: 1 sold, 1 SUCCEEDED, 4000 msat paid out',
    expect.stringMatching(/^pass: the market's node gained 1000/),
  ])
  expect(await runMoneyChecks({ reports: [held], balances: [createBalances(5000)] })).toEqual([
    'pass: 1 sold, 1 WITHHELD, 0 msat paid out',
    expect.stringMatching(/^pass: the market's node gained 5000/),
  ])
})

test('balances from before the release of a withheld payout are read again', async () => {
  const found = await runMoneyChecks({
    reports: [createReport('WITHHELD', sale), createReport('SUCCEEDED', sale, payout)],
    balances: [createBalances(5000), createBalances(1000)],
  })
  expect(found).toEqual([
    'pass: 1 sold, 1 SUCCEEDED, 4000 msat paid out',
    expect.stringMatching(/^pass: the market's node gained 1000/),
  ])
})

test('the report of a successful payout is read again until its ledger contains the payout', async () => {
  const paidReport = createReport('SUCCEEDED', sale)
  const found = await runMoneyChecks({
    reports: [paidReport, createReport('SUCCEEDED', sale, payout)],
    balances: [createBalances(1000)],
  })
  expect(found[0]).toBe('pass: 1 sold, 1 SUCCEEDED, 4000 msat paid out')
})

test('a balance that the ledgers do not explain is a fault', async () => {
  const found = await runMoneyChecks({ reports: [createReport('SUCCEEDED', sale, payout)], balances: [createBalances(999)] })
  expect(found[1]).toMatch(/^fail: the market's node gained 999 msat, and the ledgers of these orders say 1000/)
})
