import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { campaign } from './campaign.ts'

const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)

test('a market and its event store are killed, stopped and restarted, and nothing is undone', { timeout: 600_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
  console.log(`seed ${seed}; again: npm run faults -- --rounds 1 --seed ${seed} --store kurrentdb`)
  for await (const { faults, blows, statuses, struck } of campaign(dataDir, seed, 1, 'kurrentdb')) {
    expect(faults, `seed ${seed}; the data stays in ${dataDir}`).toEqual([])
    expect(new Set(blows)).toEqual(new Set(['kill', 'stop', 'restart']))
    console.log(`${blows.join(', ')}; ${JSON.stringify(struck)}; ${JSON.stringify(statuses)}`)
  }
  rmSync(dataDir, { recursive: true, force: true })
})
