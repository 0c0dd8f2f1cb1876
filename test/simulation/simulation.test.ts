import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultKind } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import { drawPlan } from './plan/draw-plan.ts'
import { declaredLinks } from './invariants/declared-flow.ts'
import { VIEW_CHECKS, VIEW_CHECK_STEPS } from './invariants/invariants.ts'
import type { SimulationWorkers } from './pool.ts'
import type { SeedOutcome } from './run-plan.ts'
import { allTransitions } from './transitions/transition-coverage.ts'
import type { Occurrence } from './coverage.ts'
import { createSeedTotals, type SeedTotals } from './seed-totals.ts'
import { createTestWorkers } from './test-workers.ts'

/** A seed always gives the same run, so the assertions about the coverage of these seeds cannot fail by chance. */
const SEEDS: readonly number[] = Array.from({ length: 40 }, (_, index) => index + 1)

/** Occurrences that are so frequent that these seeds meet them. Only a full run meets every occurrence. */
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
  'both replicas at work: payments',
  'idempotency key that was repeated',
]

let pool: SimulationWorkers
beforeAll(() => {
  pool = createTestWorkers()
})
afterAll(() => pool.close())

const formatFailure = ({ plan, violation, traceLines, recentSteps }: SeedOutcome): string =>
  `seed ${plan.seed}: ${violation?.message}\nto repeat: npm run simulate -- --seed ${plan.seed} --trace\n${[...traceLines.slice(-40), ...recentSteps.slice(-20)].join('\n')}`

const outcomes = new Map<number, Promise<SeedOutcome>>()
/** Runs a seed once. */
function runSeed(seed: number): Promise<SeedOutcome> {
  const outcome = outcomes.get(seed) ?? pool.run({ plan: drawPlan(seed) })
  outcomes.set(seed, outcome)
  return outcome
}

async function addUpSeeds(): Promise<SeedTotals> {
  const totals = createSeedTotals()
  for (const seed of SEEDS) totals.add(await runSeed(seed))
  return totals
}

describe('a fixed seed with purchases, faults, crashes and re-organisations', () => {
  test.concurrent.each(SEEDS)('violates no invariant: seed %i', async (seed) => {
    const outcome = await runSeed(seed)
    expect(outcome.violation && formatFailure(outcome)).toBe(undefined)
  })

  test('has the same outcome in a second run, and another seed has another trace', async () => {
    const [one, again, other] = await Promise.all([runSeed(7), pool.run({ plan: drawPlan(7) }), runSeed(8)])
    expect({ ...again, cpuMs: 0 }).toEqual({ ...one, cpuMs: 0 })
    expect(other.scheduleTrace).not.toBe(one.scheduleTrace)
  })
})

describe(`the ${SEEDS.length} fixed seeds together`, () => {
  test('sell a channel in more than a quarter of the seeds', async () => {
    const all = await Promise.all(SEEDS.map(runSeed))
    const sold = all.filter(({ statuses }) => 'CHANNEL_MONITORING_FINISHED' in statuses || 'VALID_CHANNEL_OPENING' in statuses)
    expect(sold.length).toBeGreaterThan(SEEDS.length / 4)
  })

  // A link that no service declares is a violation of its seed.
  test('follow most of the links that the services declare', async () => {
    const all = await Promise.all(SEEDS.map(runSeed))
    const followed = new Set(all.flatMap(({ flowLinks }) => flowLinks))
    expect([...declaredLinks].filter((link) => followed.has(link)).length).toBeGreaterThan(declaredLinks.size / 2)
  })

  test('contain sandboxes whose receives and sends end in every status', async () => {
    const { transitions } = await addUpSeeds()
    const payments = allTransitions.filter((transition) => /^(receive|send): /.test(transition))
    expect(payments.filter((transition) => !transitions.has(transition))).toEqual([])
  })

  test('check the read models about once per interval', async () => {
    const totals = await addUpSeeds()
    // A check waits while a transaction is open. Checks that become due during the wait are skipped.
    expect(totals.faults.get(VIEW_CHECKS)).toBeGreaterThan((0.85 * totals.steps()) / VIEW_CHECK_STEPS)
  })

  test('meet every frequent fault of servers and processes, and every frequent action of buyers', async () => {
    const { faults } = await addUpSeeds()
    expect(FREQUENT_OCCURRENCES.filter((occurrence) => !faults.has(occurrence))).toEqual([])
  })
})
