import { createPrng } from '@penstock/adapters/deterministic/prng.ts'
import { expect, test } from 'vitest'
import { drawPlan } from './plan/draw-plan.ts'
import type { SimulationPlan } from './plan/plan.ts'
import { runPlan } from './run-plan.ts'
import { createScenarioTools } from './scenarios/scenario-tools.ts'

/** The seller's node is offline at the payout and returns after some seconds. Meanwhile the seller submits two new invoices. */
function createUnreachableSellerPlan(seed: number): SimulationPlan {
  const tools = createScenarioTools(createPrng(`late payout ${seed}`))
  const { onFact, inject, purchase } = tools
  return {
    ...drawPlan(seed),
    workloadMs: 8000,
    purchases: [purchase()],
    networkEvents: [],
    operatorActions: [],
    kills: [],
    crashPoints: [],
    rolledOutProcesses: [],
    skewMs: {},
    faults: { lightningLate: 0.5 },
    triggers: [
      onFact('settlement PayoutRequested', inject('the seller is away', { at: 0, amount: [2000, 3500] })),
      onFact(
        'settlement PayoutFailed',
        inject('the seller gives an invoice', { at: 0 }),
        inject('the seller gives an invoice', { at: 100 }),
      ),
    ],
  }
}

/** Seeds in which a `pay` call that timed out pays the seller late, about one in ten. A changed workload needs other seeds. */
const SEEDS = [3, 21, 22] as const
const LATE_PAYMENT_MESSAGE = 'another invoice of this order was paid already'

test(
  'the market pays a seller once if a delayed payment succeeds after the seller has submitted another invoice',
  { timeout: 300_000 },
  async () => {
    const outcomes = []
    for (const seed of SEEDS) outcomes.push(await runPlan(createUnreachableSellerPlan(seed)))
    expect(outcomes.flatMap(({ violation }) => violation?.message ?? [])).toEqual([])
    // In each run the market found the late payment before it paid the other invoice.
    expect(
      outcomes
        .filter(({ traceLines }) => traceLines.some((line) => line.includes(LATE_PAYMENT_MESSAGE)))
        .map(({ plan }) => plan.seed),
    ).toEqual([...SEEDS])
  },
)
