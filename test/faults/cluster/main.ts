import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { clusterMissing } from '../../harness/cluster.ts'
import { clusterCampaign, type ClusterReport } from './campaign.ts'

/** `npm run faults:cluster -- --rounds 20 [--seed N]`: strikes a cluster again and again; ends at the first fault with 1. */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '2' }, seed: { type: 'string' } } })
const rounds = Number(values.rounds)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 10_000 || !Number.isInteger(seed) || seed < 0) {
  console.error('Use: npm run faults:cluster -- --rounds <1 to 10000> [--seed <whole number>]')
  process.exit(2)
}
if (clusterMissing !== undefined) {
  console.error(clusterMissing)
  process.exit(2)
}
// Ending this way takes the cluster along.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const clean = await run()
process.exit(clean ? 0 : 1)

async function run(): Promise<boolean> {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
  console.log(`seed ${seed}: ${rounds} rounds in ${dataDir}`)
  for await (const report of clusterCampaign(dataDir, seed, rounds)) {
    console.log(lineOf(report))
    if (report.faults.length === 0) continue
    console.log(`\n${report.plan.join('\n')}\n\n${report.faults.join('\n')}\n\nThe data stays in ${dataDir}.`)
    console.log(`Again: npm run faults:cluster -- --rounds ${report.round} --seed ${seed}`)
    return false
  }
  rmSync(dataDir, { recursive: true, force: true })
  console.log(`${rounds} rounds without a fault.`)
  return true
}

function lineOf({ round, seconds, dealt, invoices, statuses, faults }: ClusterReport): string {
  const counts = `${invoices} bought  ${faults.length} faults  ${shown(statuses)}`
  return `round ${round}/${rounds}  ${seconds.toFixed(1)} s  ${shown(dealt)}  ${counts}`
}

function shown(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
}
