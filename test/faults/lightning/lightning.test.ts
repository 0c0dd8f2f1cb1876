import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installLightning } from '@penstock/servers/lightning-install.ts'
import { expect, test } from 'vitest'
import { regtestMissing } from '../../harness/regtest.ts'
import { shown } from '../command.ts'
import { seeded } from '../random.ts'
import { lightningCampaign, type LightningReport } from './campaign.ts'
import { blowsOf, wayOf } from './plan.ts'
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

test('a seed gives the same way to a last height again, with a blow before it', () => {
  const buyers = ['a', 'b']
  expect(wayOf(seeded(seed), buyers)).toEqual(wayOf(seeded(seed), buyers))
  const ways = Array.from({ length: 300 }, (_, index) => wayOf(seeded(seed + index), buyers))
  for (const { confirmed, unconfirmed, blows } of ways) {
    expect(new Set([confirmed, unconfirmed])).toEqual(new Set(buyers))
    expect(blows[0]?.left).toBeGreaterThan(0)
  }
  const all = ways.flatMap(({ blows }) => blows.map((blow) => `${blow.left} ${blow.what === 'kill' ? blow.whom.of : blow.what}`))
  expect(new Set(all).size).toBe(4 * 3)
})

test('rounds in which nothing struck prove too little', () => {
  const struck = { kills: [], walks: [], reorged: 0, settled: 0, sellersPaid: 0, givenBack: 0 }
  expect(lacking([{ struck }])).toHaveLength(11)
  const died = (['the market', "the market's lnd", 'an agent', "a seller's lnd"] as const).map((who) => ({ who, held: 1 }))
  const walk = { blows: [{ what: 'the market', held: 2 }], isTaken: true, isGivenBack: true } as const
  const full = { kills: died, walks: [walk], reorged: 1, settled: 1, sellersPaid: 1, givenBack: 1 }
  expect(lacking([{ struck }, { struck: full }])).toEqual([])
  const idle = { ...full, kills: died.map((kill) => ({ ...kill, held: 0 })) }
  expect(lacking([{ struck: idle }])).toHaveLength(4)
  const unhurt = [{ ...walk, blows: [] }]
  expect(lacking([{ struck: { ...full, walks: unhurt } }])).toEqual([
    'There never was a blow on the way to a last height while payments were held.',
  ])
  const late = [{ ...walk, isTaken: false, isGivenBack: false }]
  expect(lacking([{ struck: { ...full, walks: late } }])).toHaveLength(2)
})

test.skipIf(regtestMissing !== undefined)(
  `${ROUNDS} rounds of deaths and re-organisations on a real network leave nothing undone`,
  { timeout: 2_400_000 },
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
