import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterMissing } from '../../harness/cluster.ts'
import { seeded } from '../random.ts'
import { shown } from '../command.ts'
import { clusterCampaign, type ClusterReport, standardExtent } from './campaign.ts'
import { type Blow, blowsOf, countsOf, lacking } from './plan.ts'

const ROUNDS = 2
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

test('a seed gives the same blows again, and every kind of them', () => {
  const extent = { ...standardExtent, frozen: 'settlement' } as const
  const blows = blowsOf(seeded(seed), extent)
  expect(blowsOf(seeded(seed), extent)).toEqual(blows)
  const sold = { VALID_CHANNEL_OPENING: 1 }
  expect(lacking([{ dealt: blows, statuses: sold }])).toEqual([])
  const moving = blows.filter(({ what }) => what !== 'freeze')
  expect(lacking([{ dealt: moving, statuses: sold }])).toEqual([expect.stringMatching(/settlement that stands still/)])
  expect(lacking([{ dealt: [], statuses: {} }])).toHaveLength(10)
})

test('who is to stand still is not ended meanwhile', () => {
  for (let one = 0; one < 500; one++) {
    const blows = blowsOf(seeded(seed + one), { ...standardExtent, frozen: 'settlement' })
    const still = blows.find(({ what }) => what === 'freeze')
    assert.ok(still?.what === 'freeze')
    const isHit = (blow: Blow): boolean =>
      blow !== still && 'name' in blow && blow.name === still.name && (!('index' in blow) || blow.index === still.index)
    expect(blows.filter(isHit)).toEqual([])
  }
})

test.skipIf(clusterMissing !== undefined)(
  `${ROUNDS} rounds of blows to a cluster under running orders leave nothing undone`,
  { timeout: 1_800_000 },
  async () => {
    console.log(`seed ${seed}; again: npm run faults:cluster -- --rounds ${ROUNDS} --seed ${seed}`)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const reports: ClusterReport[] = []
    for await (const report of clusterCampaign(dataDir, seed, ROUNDS)) {
      const { round, faults, plan, statuses, dealt, seconds } = report
      reports.push(report)
      expect(faults, `round ${round} of seed ${seed}, ${plan.join('; ')}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${round}: ${seconds.toFixed(1)} s, ${shown(countsOf(dealt))}, ${shown(statuses)}`)
    }
    expect(reports).toHaveLength(ROUNDS)
    expect(lacking(reports)).toEqual([])
    rmSync(dataDir, { recursive: true, force: true })
  },
)
