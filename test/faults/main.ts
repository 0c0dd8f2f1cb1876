import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { campaign, type RoundReport } from './campaign.ts'
import { seedOf } from './random.ts'

/** `npm run faults -- --rounds 1000 [--seed N]`: kills the market again and again; ends at the first fault with 1. */
const ROUNDS_A_FOLDER = 25
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '8' }, seed: { type: 'string' } } })
const rounds = Number(values.rounds)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100_000 || !Number.isInteger(seed) || seed < 0) {
  console.error('Use: npm run faults -- --rounds <1 to 100000> [--seed <whole number>]')
  process.exit(2)
}

// Ending this way takes the market that is running along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const clean = await run()
process.exit(clean ? 0 : 1)

/** A fresh folder now and then, since every round reads the whole log. The first folder's seed is the one that was given. */
async function run(): Promise<boolean> {
  for (let done = 0; done < rounds; done += ROUNDS_A_FOLDER) {
    const folderSeed = done === 0 ? seed : seedOf(seed, -done)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const count = Math.min(ROUNDS_A_FOLDER, rounds - done)
    console.log(`seed ${folderSeed}: ${count} rounds in ${dataDir}`)
    for await (const report of campaign(dataDir, folderSeed, count)) {
      console.log(line(report, done + report.round))
      if (report.faults.length === 0) continue
      console.log(`\n${report.faults.join('\n')}\n\nThe data stays in ${dataDir}.`)
      console.log(`Again: npm run faults -- --rounds ${report.round} --seed ${folderSeed}`)
      return false
    }
    rmSync(dataDir, { recursive: true, force: true })
  }
  console.log(`${rounds} rounds without a fault.`)
  return true
}

function line({ kills, invoices, seconds, statuses, waiting, unproven, faults }: RoundReport, number: number): string {
  const waits = Object.entries(waiting).map(([party, count]) => `${count} wait for ${party}`)
  const ends = Object.entries(statuses).map(([status, count]) => `${count} ${status}`)
  return `round ${number}/${rounds}  ${seconds.toFixed(1)} s  ${kills} kills  ${invoices} bought  ${faults.length} faults  ${unproven} on the chain alone  ${[...ends, ...waits].join(', ')}`
}
