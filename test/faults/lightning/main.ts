import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { regtestMissing } from '../../harness/regtest.ts'
import { lightningCampaign } from './campaign.ts'

/** `npm run faults:lightning -- --rounds 20 [--seed N]`: a real network under blows; ends at the first fault with 1. */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, seed: { type: 'string' } } })
const rounds = Number(values.rounds)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 10_000 || !Number.isInteger(seed) || seed < 0) {
  console.error('Use: npm run faults:lightning -- --rounds <1 to 10000> [--seed <whole number>]')
  process.exit(2)
}
if (regtestMissing !== undefined) {
  console.error(regtestMissing)
  process.exit(2)
}
// Ending this way takes the network along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.exit((await run()) ? 0 : 1)

async function run(): Promise<boolean> {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
  console.log(`seed ${seed}: ${rounds} rounds in ${dataDir}`)
  for await (const { round, plan, invoices, seconds, statuses, faults } of lightningCampaign(dataDir, seed, rounds)) {
    const counts = Object.entries(statuses).map(([status, count]) => `${count} ${status}`)
    console.log(
      `round ${round}/${rounds}  ${seconds.toFixed(1)} s  ${invoices} bought  ${faults.length} faults  ${counts.join(', ')}`,
    )
    if (faults.length === 0) continue
    console.log(`\n${plan.join('\n')}\n\n${faults.join('\n')}\n\nThe data stays in ${dataDir}.`)
    console.log(`Again: npm run faults:lightning -- --rounds ${round} --seed ${seed}`)
    return false
  }
  rmSync(dataDir, { recursive: true, force: true })
  console.log(`${rounds} rounds without a fault.`)
  return true
}
