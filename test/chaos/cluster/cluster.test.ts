import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterSkipReason } from '../../support/cluster.ts'
import { createSeededRandom } from '../random.ts'
import { formatCounts } from '../command.ts'
import { runClusterCampaign, type ClusterReport, standardClusterRoundSize } from './campaign.ts'
import { type ClusterFault, planClusterFaults, countFaultKinds, findMissingClusterCoverage } from './fault-plan.ts'

/** One round has every kind of fault. `npm run faults:cluster -- --rounds <N>` runs more rounds. */
const ROUNDS = 1
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
// CI must run every test, so it fails instead of skipping if Java or Maven is missing.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

test('planClusterFaults gives the same faults for the same seed, and every kind of fault', () => {
  const extent = { ...standardClusterRoundSize, frozenService: 'settlement' } as const
  const faults = planClusterFaults(createSeededRandom(seed), extent)
  expect(planClusterFaults(createSeededRandom(seed), extent)).toEqual(faults)
  const sold = { VALID_CHANNEL_OPENING: 1 }
  expect(findMissingClusterCoverage([{ injected: faults, statuses: sold }])).toEqual([])
  const withoutFreeze = faults.filter(({ kind }) => kind !== 'freeze')
  expect(findMissingClusterCoverage([{ injected: withoutFreeze, statuses: sold }])).toEqual([
    expect.stringMatching(/settlement that is frozen/),
  ])
  expect(findMissingClusterCoverage([{ injected: [], statuses: {} }])).toHaveLength(10)
})

test('planClusterFaults plans no second fault for the process that it freezes', () => {
  for (let index = 0; index < 500; index++) {
    const faults = planClusterFaults(createSeededRandom(seed + index), {
      ...standardClusterRoundSize,
      frozenService: 'settlement',
    })
    const frozen = faults.find(({ kind }) => kind === 'freeze')
    assert.ok(frozen?.kind === 'freeze')
    const isHit = (fault: ClusterFault): boolean =>
      fault !== frozen && 'name' in fault && fault.name === frozen.name && (!('index' in fault) || fault.index === frozen.index)
    expect(faults.filter(isHit)).toEqual([])
  }
})

test.skipIf(clusterSkipReason !== undefined)(
  'all checks pass after every round in which faults hit a cluster while it sells',
  { timeout: 1_800_000 },
  async () => {
    console.log(`seed ${seed}; to repeat: npm run faults:cluster -- --rounds ${ROUNDS} --seed ${seed}`)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const reports: ClusterReport[] = []
    for await (const report of runClusterCampaign(dataDir, seed, ROUNDS)) {
      const { round, violations, refusals, plannedFaults, statuses, injected, seconds } = report
      reports.push(report)
      if (violations.length > 0) console.log(`refused: ${refusals.join('; ')}`)
      expect(violations, `round ${round} of seed ${seed}, ${plannedFaults.join('; ')}; the data stays in ${dataDir}`).toEqual([])
      console.log(
        `round ${round}: ${seconds.toFixed(1)} s, ${formatCounts(countFaultKinds(injected))}, ${formatCounts(statuses)}`,
      )
    }
    expect(reports).toHaveLength(ROUNDS)
    expect(findMissingClusterCoverage(reports)).toEqual([])
    rmSync(dataDir, { recursive: true, force: true })
  },
)
