import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchPinned, PINNED } from './pinned.ts'
import type { FaultKind } from '@penstock/adapters/seeded/faults.ts'
import { planOf } from './draw-plan.ts'
import type { Cue } from './cues.ts'
import { LOOKS, VIEWS_EVERY } from './invariants.ts'
import { type Plan, SELLERS, type Weather } from './plan.ts'
import { openPool, type Pool } from './pool.ts'
import type { Outcome } from './run-plan.ts'
import type { Occurrence } from './reached.ts'
import { tally } from './tally.ts'

const SEEDS = 150
const FROM = 1

const PINNED_ONES: readonly Occurrence[] = ['process with pinned contracts', 'append by a process with pinned contracts']
/** What so few seeds meet surely; a run of 10,000 has to meet everything that there is. */
const OFTEN: readonly (Occurrence | FaultKind)[] = [
  'appendFault',
  'appendUnknown',
  'append that met a conflict',
  'publishFault',
  'publishUnknown',
  'busDrop',
  'busRepeat',
  'busSlow',
  'message that one of another key overtook',
  'commitUnknown',
  'diskFull',
  'write on a full disk',
  'killBefore',
  'killAfter',
  'process killed as planned',
  'process whose clock is off',
  'both replicas at work: order',
  'both replicas at work: settlement',
  're-org',
  'hold that was ended at its last height',
  'buyer: pay',
]

let pool: Pool
beforeAll(() => {
  pool = openPool(availableParallelism())
})
afterAll(() => pool.close())

const failure = ({ plan, broken, diary, recent }: Outcome): string =>
  `seed ${plan.seed}: ${broken?.message}\nagain: npm run simulate -- --seed ${plan.seed} --trace\n${[...diary.slice(-40), ...recent.slice(-20)].join('\n')}`

describe(`${SEEDS} seeds of people, faults, deaths and re-orgs`, () => {
  const sums = tally()

  test('break nothing', { timeout: 900_000 }, async () => {
    const outcomes = await Promise.all(Array.from({ length: SEEDS }, (_, index) => pool.run({ plan: planOf(FROM + index) })))
    for (const outcome of outcomes) sums.add(outcome)
    expect(outcomes.filter(({ broken }) => broken).map(failure)).toEqual([])
    const sold = outcomes.filter(
      ({ statuses }) => 'CHANNEL_MONITORING_FINISHED' in statuses || 'VALID_CHANNEL_OPENING' in statuses,
    )
    expect(sold.length).toBeGreaterThan(SEEDS / 4)
  })

  test('have their read models looked at as often as is said', () => {
    // While a transaction is open nobody can look, and what falls due meanwhile is one look.
    expect(sums.faults.get(LOOKS)).toBeGreaterThan((0.85 * sums.steps()) / VIEWS_EVERY)
  })

  test('meet the faults of every server, of processes and of people', () => {
    expect(OFTEN.filter((what) => !sums.faults.has(what))).toEqual([])
  })

  test(`have processes with the contracts of ${PINNED} among today's`, (context) => {
    const missing = fetchPinned()
    if (missing !== undefined) return context.skip(missing)
    expect(PINNED_ONES.filter((what) => !sums.faults.has(what))).toEqual([])
  })
})

test('a seed is one course of events, for ever', { timeout: 600_000 }, async () => {
  const plan = planOf(7)
  const [one, other] = await Promise.all([pool.run({ plan }), pool.run({ plan })])
  expect({ ...other, cpuMs: 0 }).toEqual({ ...one, cpuMs: 0 })
  expect((await pool.run({ plan: planOf(8) })).trace).not.toBe(one.trace)
})

/** One buyer who pays, and nothing goes wrong but what is done on purpose. */
const quiet: Plan = {
  ...planOf(1),
  purchases: [
    {
      atMs: 100,
      buyer: 'buyer',
      by: 'buy',
      options: { private: false, rails_cluster_only: false },
      usdCents: 900,
      then: 'pay',
      afterMs: 50,
      confirmations: 3,
    },
  ],
  sellers: planOf(1).sellers.map((seller) => ({ ...seller, standing: true, answers: 'accepts' as const })),
  weather: [],
  deeds: [],
  deaths: [],
  fatalCalls: [],
  cues: [],
  faults: {},
  skewMs: {},
  old: [],
  isSoldOnceMore: true,
}

const soon = { restWithinMs: 40_000 }
const neverOpens = (alias: string): Weather => ({ what: 'behave', atMs: 0, alias, how: 'never-open' })
/** A payment is held, its last height comes, and nobody but the guard is there to think of it. */
const lastHeightAlone: Cue = {
  on: 'settlement HoldHeld',
  nth: 1,
  strokes: [
    { does: 'order is down', afterMs: 0, much: 60_000 },
    { does: 'the last height comes', afterMs: 0, much: 0 },
  ],
}
/** The funding of what was sold leaves the chain for good, and the buyer asks for its money. */
const undoneSale: readonly Cue[] = [
  { on: 'settlement HoldSettled', nth: 1, strokes: [{ does: 'the sale is undone', afterMs: 0, much: 0 }] },
  {
    on: 'settlement PayableClosed',
    nth: 1,
    strokes: [{ does: 'the buyer asks for its money', afterMs: 100, much: 1 }],
  },
]

describe('what the checks notice', () => {
  test('an honest market sells', { timeout: 600_000 }, async () => {
    expect(await pool.run({ plan: quiet })).toMatchObject({ broken: undefined, statuses: { CHANNEL_MONITORING_FINISHED: 2 } })
  })

  test('and gives a buyer its money back whose channel is gone', { timeout: 600_000 }, async () => {
    const { broken, faults, edges } = await pool.run({ plan: { ...quiet, cues: undoneSale } })
    expect({ broken, paid: faults['refund that was paid'] }).toEqual({ broken: undefined, paid: 1 })
    expect(edges['hold: settled --PayableClosed--> settled']).toBe(1)
  })

  test.each([
    ['settles before the proof', 'settled only when proven', {}],
    ['does not pay out', 'money', {}],
    ['pays a stranger', 'paid for an order', {}],
    // The first seller gives an invoice and opens nothing.
    ['pays everybody', 'paid once', { weather: [neverOpens('seller-ada')] }],
    // Until the last seller has had its time.
    ['forgets to give back', 'given back when it is said so', { busyMs: 20_000, weather: SELLERS.map(neverOpens) }],
    ['sleeps over its holds', 'no hold passes its height', { cues: [lastHeightAlone] }],
    ['is silent at the last height', 'no hold passes its height', { cues: [lastHeightAlone] }],
    ['is silent and waits', 'no hold passes its height', { cues: [lastHeightAlone] }],
    ['speaks a few blocks late', 'no hold passes its height', { cues: [lastHeightAlone] }],
    ['cannot give back', 'what has to end ends', { busyMs: 20_000, weather: SELLERS.map(neverOpens) }],
    ['cannot take its money', 'what has to end ends', {}],
    ['thinks it too late', 'incidents have causes', {}],
    ['keeps to its sellers', 'paid to whom it is owed', { cues: undoneSale }],
    ['pays both sides', 'paid once', { cues: undoneSale }],
    ['forgets its buyers', 'liveness', { cues: undoneSale, ...soon }],
    ['lets a msat slip', 'balances', {}],
    ['changes a fact', 'streams', {}],
    ['sets a message aside', 'nothing is parked', {}],
    ['lets go of a promise', 'no rejection goes unheard', {}],
    ['does not start', 'no process ends by itself', {}],
    ['reads ahead', 'read models are behind', {}],
    ['shows another height', 'read models say what was told', {}],
    ['shows what is not so', 'read models', {}],
    ['does not listen', 'liveness', soon],
    ['fails its buyers', 'nobody is answered with an error', {}],
    ['sells only once', 'liveness', {}],
    ['is careless in the end', 'no rejection goes unheard', {}],
    ['reads the clock', 'only the seed decides', {}],
    ['makes a date of now', 'only the seed decides', {}],
    ['draws itself', 'only the seed decides', {}],
    ['rolls dice', 'only the seed decides', {}],
  ] as const)('a market that %s', { timeout: 600_000 }, async (sabotage, invariant, change) => {
    const { broken } = await pool.run({ plan: { ...quiet, ...change }, sabotage })
    expect({ ...broken, stack: undefined }).toMatchObject({ invariant })
  })

  test.each([
    ['whose first seller opens nothing', { weather: [neverOpens('seller-ada')] }],
    ['none of whose sellers opens anything', { busyMs: 20_000, weather: SELLERS.map(neverOpens) }],
    ['whose guard is alone at the last height', { cues: [lastHeightAlone] }],
    ['that has to come to rest soon', soon],
  ] as const)('and nothing is wrong with an honest one %s', { timeout: 600_000 }, async (_, change) => {
    expect((await pool.run({ plan: { ...quiet, ...change } })).broken).toBe(undefined)
  })
})
