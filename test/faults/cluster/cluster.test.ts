import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterMissing } from '../../harness/cluster.ts'
import { seeded } from '../random.ts'
import { clusterCampaign, standardExtent } from './campaign.ts'
import { blowsOf } from './plan.ts'

const ROUNDS = 2
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

test('a seed gives the same blows again, and every kind of them', () => {
  const blows = blowsOf(seeded(seed), standardExtent)
  expect(blowsOf(seeded(seed), standardExtent)).toEqual(blows)
  expect(new Set(blows.map(({ what }) => what))).toEqual(new Set(['kill', 'restart', 'freeze', 'rebalance', 'rewind', 'forget']))
})

test.skipIf(clusterMissing !== undefined)(
  `${ROUNDS} rounds of blows to a cluster under running orders leave nothing undone`,
  { timeout: 600_000 },
  async () => {
    console.log(`seed ${seed}; again: npm run faults:cluster -- --rounds ${ROUNDS} --seed ${seed}`)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    let rounds = 0
    for await (const { faults, plan, statuses, dealt, seconds } of clusterCampaign(dataDir, seed, ROUNDS)) {
      rounds += 1
      expect(faults, `round ${rounds} of seed ${seed}, ${plan.join('; ')}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${rounds}: ${seconds.toFixed(1)} s, ${JSON.stringify(dealt)}, ${JSON.stringify(statuses)}`)
    }
    expect(rounds).toBe(ROUNDS)
    rmSync(dataDir, { recursive: true, force: true })
  },
)
