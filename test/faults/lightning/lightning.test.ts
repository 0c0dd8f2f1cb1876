import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installLightning } from '@penstock/servers/lightning-install.ts'
import { expect, test } from 'vitest'
import { regtestMissing } from '../../harness/regtest.ts'
import { seeded } from '../random.ts'
import { lightningCampaign } from './campaign.ts'
import { blowsOf } from './plan.ts'

const ROUNDS = 3
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
// Where everything is tested, a machine without Go is a mistake.
if (regtestMissing !== undefined && process.env['CI'] !== undefined) throw new Error(regtestMissing)
// Outside of every time limit: the first time it takes minutes.
if (regtestMissing === undefined) await installLightning()

test('a seed gives the same blows again, to everybody who may die', () => {
  const extent = { longMs: 20_000, sellers: ['a', 'b'] }
  const blows = blowsOf(seeded(seed), extent)
  expect(blowsOf(seeded(seed), extent)).toEqual(blows)
  const dead = new Set(blows.flatMap((blow) => (blow.what === 'kill' ? [`${blow.whom.of} ${blow.whom.alias}`] : [])))
  expect([...dead]).toEqual(expect.arrayContaining(['process market', 'lnd market']))
  expect(blows.some(({ what }) => what === 'reorg')).toBe(true)
})

test.skipIf(regtestMissing !== undefined)(
  `${ROUNDS} rounds of deaths and re-organisations on a real network leave nothing undone`,
  { timeout: 900_000 },
  async () => {
    console.log(`seed ${seed}; again: npm run faults:lightning -- --rounds ${ROUNDS} --seed ${seed}`)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    let rounds = 0
    for await (const { faults, plan, statuses, invoices, seconds } of lightningCampaign(dataDir, seed, ROUNDS)) {
      rounds += 1
      expect(faults, `round ${rounds} of seed ${seed}, ${plan.join('; ')}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${rounds}: ${seconds.toFixed(1)} s, ${invoices} bought, ${JSON.stringify(statuses)}`)
    }
    expect(rounds).toBe(ROUNDS)
    rmSync(dataDir, { recursive: true, force: true })
  },
)
