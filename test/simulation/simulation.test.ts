import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchPinned } from './pinned.ts'
import { planOf } from './draw-plan.ts'
import type { Plan } from './plan.ts'
import { openPool, type Pool } from './pool.ts'
import type { Outcome } from './run-plan.ts'
import { shrink, sizeOf } from './shrink.ts'

const SEEDS = 150
const FROM = 1

let pool: Pool
beforeAll(() => {
  pool = openPool(availableParallelism())
})
afterAll(() => pool.close())

const failure = ({ plan, broken, diary, recent }: Outcome): string =>
  `seed ${plan.seed}: ${broken?.message}\nagain: npm run simulate -- --seed ${plan.seed} --trace\n${[...diary.slice(-40), ...recent.slice(-20)].join('\n')}`

test(`${SEEDS} seeds of people, faults, deaths and re-orgs break nothing`, { timeout: 900_000 }, async () => {
  const missing = fetchPinned()
  if (missing !== undefined) console.log(`no process runs with earlier contracts: ${missing}`)
  const outcomes = await Promise.all(Array.from({ length: SEEDS }, (_, index) => pool.run({ plan: planOf(FROM + index) })))
  expect(outcomes.filter(({ broken }) => broken).map(failure)).toEqual([])
  const sold = outcomes.filter(({ statuses }) => 'CHANNEL_MONITORING_FINISHED' in statuses || 'VALID_CHANNEL_OPENING' in statuses)
  expect(sold.length).toBeGreaterThan(SEEDS / 4)
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
  cues: [],
  faults: {},
  skewMs: {},
  old: [],
}

describe('what the checks notice', () => {
  test('an honest market sells', { timeout: 600_000 }, async () => {
    expect(await pool.run({ plan: quiet })).toMatchObject({ broken: undefined, statuses: { CHANNEL_MONITORING_FINISHED: 1 } })
  })

  test.each([
    ['settles before the proof', 'settled only when proven', {}],
    ['does not pay out', 'money', {}],
    [
      'forgets to give back',
      'given back when it is said so',
      {
        // Until the last seller has had its time.
        busyMs: 20_000,
        weather: [
          { what: 'behave', atMs: 0, alias: 'seller-ada', how: 'never-open' },
          { what: 'behave', atMs: 0, alias: 'seller-bob', how: 'never-open' },
          { what: 'behave', atMs: 0, alias: 'seller-cleo', how: 'never-open' },
        ],
      },
    ],
  ] as const)('a market that %s', { timeout: 600_000 }, async (sabotage, invariant, change) => {
    const { broken } = await pool.run({ plan: { ...quiet, ...change }, sabotage })
    expect(broken?.invariant).toBe(invariant)
  })
})

test('a failing plan is made as small as its failure allows', { timeout: 600_000 }, async () => {
  const sabotage = 'settles before the proof'
  const plan = planOf(13)
  const breaks = async (smaller: Plan) =>
    (await pool.run({ plan: smaller, sabotage })).broken?.invariant === 'settled only when proven'
  expect(await breaks(plan)).toBe(true)
  const small = await shrink(plan, breaks)
  expect(small.purchases).toHaveLength(1)
  expect(sizeOf(small)).toBeLessThanOrEqual(2)
  expect(await breaks(small)).toBe(true)
})
