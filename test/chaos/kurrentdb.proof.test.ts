import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCampaign } from './campaign.ts'

const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)

test(
  'all checks pass after a round that kills the market and kills, pauses and restarts its event store',
  { timeout: 1_500_000 },
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    console.log(`seed ${seed}; to repeat: npm run proof -- faults --rounds 1 --seed ${seed} --store kurrentdb`)
    for await (const { violations, storeFaults, statuses, coverage } of runCampaign(dataDir, seed, 1, 'kurrentdb')) {
      expect(violations, `seed ${seed}; the data stays in ${dataDir}`).toEqual([])
      expect(new Set(storeFaults)).toEqual(new Set(['kill', 'stop', 'restart']))
      console.log(`${storeFaults.join(', ')}; ${JSON.stringify(coverage)}; ${JSON.stringify(statuses)}`)
    }
    rmSync(dataDir, { recursive: true, force: true })
  },
)
