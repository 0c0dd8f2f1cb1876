import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installLightning } from '@penstock/servers/lightning-install.ts'
import { expect, test } from 'vitest'
import { regtestMissing } from '../../harness/regtest.ts'
import { shown } from '../command.ts'
import { seeded } from '../random.ts'
import { lightningCampaign, type LightningReport } from './campaign.ts'
import { blowsOf } from './plan.ts'
import { lacking, struckShown } from './struck.ts'

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
  expect(blows.some(({ what }) => what === 'take back')).toBe(true)
})

test('rounds in which nothing struck prove too little', () => {
  const struck = { kills: [], lastHeights: [], reorged: 0, settled: 0, sellersPaid: 0, givenBack: 0 }
  expect(lacking([{ struck }])).toHaveLength(9)
  const died = (['the market', "the market's lnd", 'an agent', "a seller's lnd"] as const).map((who) => ({ who, held: 1 }))
  const full = { kills: died, lastHeights: [0], reorged: 1, settled: 1, sellersPaid: 1, givenBack: 1 }
  expect(lacking([{ struck }, { struck: full }])).toEqual([])
  const idle = { ...full, kills: died.map((kill) => ({ ...kill, held: 0 })), lastHeights: [1] }
  expect(lacking([{ struck: idle }])).toHaveLength(5)
})

test.skipIf(regtestMissing !== undefined)(
  `${ROUNDS} rounds of deaths and re-organisations on a real network leave nothing undone`,
  { timeout: 900_000 },
  async () => {
    console.log(`seed ${seed}; again: npm run faults:lightning -- --rounds ${ROUNDS} --seed ${seed}`)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const reports: LightningReport[] = []
    for await (const report of lightningCampaign(dataDir, seed, ROUNDS)) {
      const { round, faults, plan, struck, statuses, invoices, seconds } = report
      reports.push(report)
      expect(faults, `round ${round} of seed ${seed}, ${plan.join('; ')}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${round}: ${seconds.toFixed(1)} s, ${invoices} bought, ${shown(statuses)}; ${struckShown(struck)}`)
    }
    expect(reports).toHaveLength(ROUNDS)
    expect(lacking(reports)).toEqual([])
    rmSync(dataDir, { recursive: true, force: true })
  },
)
