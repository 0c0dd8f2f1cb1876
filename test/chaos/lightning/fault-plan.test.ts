import { expect, test } from 'vitest'
import { createSeededRandom } from '../random.ts'
import { planLightningFaults, planLastHeightRun } from './fault-plan.ts'
import { findMissingLightningCoverage } from './coverage.ts'

const SEED = 1

test('planLightningFaults gives the same faults for the same seed, and kills every kind of victim', () => {
  const extent = { durationMs: 20_000, sellers: ['a', 'b'] }
  const faults = planLightningFaults(createSeededRandom(SEED), extent)
  expect(planLightningFaults(createSeededRandom(SEED), extent)).toEqual(faults)
  const victims = new Set(
    faults.flatMap((fault) => (fault.kind === 'kill' ? [`${fault.victim.kind} ${fault.victim.alias}`] : [])),
  )
  expect([...victims]).toEqual(expect.arrayContaining(['process market', 'lnd market']))
  expect(faults.some(({ kind }) => kind === 'take back')).toBe(true)
})

test('planLastHeightRun gives the same plan for the same seed, with a fault before the last height', () => {
  const buyers = ['a', 'b']
  expect(planLastHeightRun(createSeededRandom(SEED), buyers)).toEqual(planLastHeightRun(createSeededRandom(SEED), buyers))
  const plans = Array.from({ length: 300 }, (_, index) => planLastHeightRun(createSeededRandom(SEED + index), buyers))
  for (const { confirmedBuyer, unconfirmedBuyer, faults } of plans) {
    expect(new Set([confirmedBuyer, unconfirmedBuyer])).toEqual(new Set(buyers))
    expect(faults[0]?.blocksLeft).toBeGreaterThan(0)
  }
  const all = plans.flatMap(({ faults }) =>
    faults.map((fault) => `${fault.blocksLeft} ${fault.kind === 'kill' ? fault.victim.kind : fault.kind}`),
  )
  expect(new Set(all).size).toBe(4 * 3)
})

test('findMissingLightningCoverage reports each required event that no round had', () => {
  const coverage = { kills: [], lastHeightRuns: [], reorged: 0, settled: 0, sellersPaid: 0, cancelled: 0 }
  expect(findMissingLightningCoverage([{ coverage }])).toHaveLength(11)
  const kills = (['the market', "the market's lnd", 'an agent', "a seller's lnd"] as const).map((victim) => ({
    victim,
    heldCount: 1,
  }))
  const run = { faults: [{ kind: 'the market', heldCount: 2 }], isSettled: true, isCancelled: true } as const
  const full = { kills, lastHeightRuns: [run], reorged: 1, settled: 1, sellersPaid: 1, cancelled: 1 }
  expect(findMissingLightningCoverage([{ coverage }, { coverage: full }])).toEqual([])
  const idle = { ...full, kills: kills.map((kill) => ({ ...kill, heldCount: 0 })) }
  expect(findMissingLightningCoverage([{ coverage: idle }])).toHaveLength(4)
  const withoutFaults = [{ ...run, faults: [] }]
  expect(findMissingLightningCoverage([{ coverage: { ...full, lastHeightRuns: withoutFaults } }])).toEqual([
    'There never was a fault before a last height while payments were held.',
  ])
  const lateRun = [{ ...run, isSettled: false, isCancelled: false }]
  expect(findMissingLightningCoverage([{ coverage: { ...full, lastHeightRuns: lateRun } }])).toHaveLength(2)
})
