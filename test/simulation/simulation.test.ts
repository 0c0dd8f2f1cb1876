import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultKind } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import { drawPlan } from './plan/draw-plan.ts'
import type { Trigger } from './plan/triggers.ts'
import { VIEW_CHECKS, VIEW_CHECK_STEPS } from './invariants/invariants.ts'
import { type SimulationPlan, SELLERS, type NetworkEvent } from './plan/plan.ts'
import { createSimulationWorkers, type SimulationWorkers } from './pool.ts'
import type { SeedOutcome } from './run-plan.ts'
import type { Occurrence } from './coverage.ts'
import { createSeedTotals } from './seed-totals.ts'

const SEEDS = 150
const FROM = 1

/** Occurrences that are so frequent that this small number of seeds meets them. Only a full run meets every occurrence. */
const FREQUENT_OCCURRENCES: readonly (Occurrence | FaultKind)[] = [
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

let pool: SimulationWorkers
beforeAll(() => {
  pool = createSimulationWorkers(availableParallelism())
})
afterAll(() => pool.close())

const failure = ({ plan, violation, traceLines, recentSteps }: SeedOutcome): string =>
  `seed ${plan.seed}: ${violation?.message}\nto repeat: npm run simulate -- --seed ${plan.seed} --trace\n${[...traceLines.slice(-40), ...recentSteps.slice(-20)].join('\n')}`

describe(`${SEEDS} seeds with purchases, faults, crashes and re-organisations`, () => {
  const totals = createSeedTotals()

  test('violate no invariant', { timeout: 900_000 }, async () => {
    const outcomes = await Promise.all(Array.from({ length: SEEDS }, (_, index) => pool.run({ plan: drawPlan(FROM + index) })))
    for (const outcome of outcomes) totals.add(outcome)
    expect(outcomes.filter(({ violation }) => violation).map(failure)).toEqual([])
    const sold = outcomes.filter(
      ({ statuses }) => 'CHANNEL_MONITORING_FINISHED' in statuses || 'VALID_CHANNEL_OPENING' in statuses,
    )
    expect(sold.length).toBeGreaterThan(SEEDS / 4)
  })

  test('check the read models about once per interval', () => {
    // A check waits while a transaction is open. Checks that become due during the wait are skipped.
    expect(totals.faults.get(VIEW_CHECKS)).toBeGreaterThan((0.85 * totals.steps()) / VIEW_CHECK_STEPS)
  })

  test('meet every frequent fault of servers and processes, and every frequent action of buyers', () => {
    expect(FREQUENT_OCCURRENCES.filter((occurrence) => !totals.faults.has(occurrence))).toEqual([])
  })
})

test('two runs of one seed have the same outcome, and another seed has another trace', { timeout: 600_000 }, async () => {
  const plan = drawPlan(7)
  const [one, other] = await Promise.all([pool.run({ plan }), pool.run({ plan })])
  expect({ ...other, cpuMs: 0 }).toEqual({ ...one, cpuMs: 0 })
  expect((await pool.run({ plan: drawPlan(8) })).scheduleTrace).not.toBe(one.scheduleTrace)
})

/** A plan with one buyer that pays, and without faults. */
const quietPlan: SimulationPlan = {
  ...drawPlan(1),
  purchases: [
    {
      atMs: 100,
      buyer: 'buyer',
      api: 'buy',
      options: { private: false, rails_cluster_only: false },
      usdCents: 900,
      afterwards: 'pay',
      afterMs: 50,
      confirmations: 3,
    },
  ],
  sellers: drawPlan(1).sellers.map((seller) => ({ ...seller, acceptsAutomatically: true, answer: 'accepts' as const })),
  networkEvents: [],
  operatorActions: [],
  kills: [],
  crashPoints: [],
  triggers: [],
  faults: {},
  skewMs: {},
  rolledOutProcesses: [],
  hasLastSale: true,
}

const shortQuiescence = { quiescenceTimeoutMs: 40_000 }
const neverOpensPlan = (alias: string): NetworkEvent => ({ kind: 'behave', atMs: 0, alias, behaviour: 'never-open' })
/** A hold reaches its last height while the order service is down, so only the guard can act. */
const lastHeightPlan: Trigger = {
  factType: 'settlement HoldHeld',
  nth: 1,
  injections: [
    { name: 'order is down', afterMs: 0, amount: 60_000 },
    { name: 'the last height comes', afterMs: 0, amount: 0 },
  ],
}
/** A double spend replaces the funding of a sold channel, and the buyer requests a refund. */
const undoneSale: readonly Trigger[] = [
  { factType: 'settlement HoldSettled', nth: 1, injections: [{ name: 'the sale is undone', afterMs: 0, amount: 0 }] },
  {
    factType: 'settlement PayableClosed',
    nth: 1,
    injections: [{ name: 'the buyer asks for its money', afterMs: 100, amount: 1 }],
  },
]

describe('the checks of the simulation', () => {
  test('accept a market without a defect that sells channels', { timeout: 600_000 }, async () => {
    expect(await pool.run({ plan: quietPlan })).toMatchObject({
      violation: undefined,
      statuses: { CHANNEL_MONITORING_FINISHED: 2 },
    })
  })

  test('accept a market that refunds a buyer whose channel was double-spent', { timeout: 600_000 }, async () => {
    const { violation, faults, transitions } = await pool.run({ plan: { ...quietPlan, triggers: undoneSale } })
    expect({ broken: violation, paid: faults['refund that was paid'] }).toEqual({ broken: undefined, paid: 1 })
    expect(transitions['hold: settled --PayableClosed--> settled']).toBe(1)
  })

  test.each([
    ['settles before the proof', 'settled only when proven', {}],
    ['does not pay out', 'money', {}],
    ['pays a stranger', 'paid for an order', {}],
    // The first seller submits a payout invoice, but never opens a channel. So two payout invoices exist for one order.
    ['pays everybody', 'paid once', { networkEvents: [neverOpensPlan('seller-ada')] }],
    // The workload lasts until the opening window of the last seller has ended.
    ['forgets to give back', 'cancelled orders hold nothing', { workloadMs: 20_000, networkEvents: SELLERS.map(neverOpensPlan) }],
    ['sleeps over its holds', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['is silent at the last height', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['is silent and waits', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['speaks a few blocks late', 'no hold passes its height', { triggers: [lastHeightPlan] }],
    ['cannot give back', 'due payments end', { workloadMs: 20_000, networkEvents: SELLERS.map(neverOpensPlan) }],
    ['cannot take its money', 'due payments end', {}],
    ['thinks it too late', 'incidents have causes', {}],
    ['keeps to its sellers', 'paid to the creditor', { triggers: undoneSale }],
    ['pays both sides', 'paid once', { triggers: undoneSale }],
    ['forgets its buyers', 'liveness', { triggers: undoneSale, ...shortQuiescence }],
    ['lets a msat slip', 'balances', {}],
    ['changes a fact', 'streams', {}],
    ['sets a message aside', 'no message is parked', {}],
    ['lets go of a promise', 'no unhandled rejection', {}],
    ['does not start', 'no process ends by itself', {}],
    ['reads ahead', 'read models follow the streams', {}],
    ['shows another height', 'read models match their facts', {}],
    ['shows what is not so', 'read models', {}],
    ['does not listen', 'liveness', shortQuiescence],
    ['fails its buyers', 'no internal error in an answer', {}],
    ['sells only once', 'liveness', {}],
    ['is careless in the end', 'no unhandled rejection', {}],
    ['reads the clock', 'runs are deterministic', {}],
    ['makes a date of now', 'runs are deterministic', {}],
    ['draws itself', 'runs are deterministic', {}],
    ['rolls dice', 'runs are deterministic', {}],
  ] as const)('report a market that %s', { timeout: 600_000 }, async (defect, invariant, change) => {
    const { violation } = await pool.run({ plan: { ...quietPlan, ...change }, defect })
    expect({ ...violation, stack: undefined }).toMatchObject({ invariant })
  })

  test.each([
    ['whose first seller never opens', { networkEvents: [neverOpensPlan('seller-ada')] }],
    ['whose sellers never open', { workloadMs: 20_000, networkEvents: SELLERS.map(neverOpensPlan) }],
    ['in which only the guard can act at the last height', { triggers: [lastHeightPlan] }],
    ['with a short quiescence timeout', shortQuiescence],
  ] as const)('accept a market without a defect %s', { timeout: 600_000 }, async (_, change) => {
    expect((await pool.run({ plan: { ...quietPlan, ...change } })).violation).toBe(undefined)
  })
})
