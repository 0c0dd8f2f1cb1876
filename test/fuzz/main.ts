import { parseCommandOptions } from '../support/options.ts'
import { formatTestCounts } from '../support/test-counts.ts'
import { runFuzzCampaign } from './campaign.ts'
import { startFuzzMarket } from './fuzz-market.ts'
import { formatMemory } from './checks/memory.ts'

/** `npm run proof -- hostile --runs 100000 [--seed N]` sends this number of fuzz requests, and exits with 1 after a violation. */
const USAGE = 'Usage: npm run proof -- hostile [--runs <whole number>] [--seed <whole number>]; default: 5000 runs'
const values = parseCommandOptions({ runs: { type: 'string', default: '5000' }, seed: { type: 'string' } }, USAGE)
const runs = Number(values.runs)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (!Number.isInteger(runs) || runs < 1 || !Number.isInteger(seed) || seed < 0) {
  console.error(USAGE)
  process.exit(2)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

console.log(`seed ${seed}; to repeat: npm run proof -- hostile --runs ${runs} --seed ${seed}`)
const compareByName = ([first]: readonly [string, unknown], [second]: readonly [string, unknown]): number =>
  first < second ? -1 : 1
const market = await startFuzzMarket()
const outcome = await runFuzzCampaign(market, { runs, seed, onViolation: (violation) => console.log(`\nFAULT ${violation}\n`) })
for (const [name, { withCredential, withoutCredential, carriedOut }] of [...outcome.targets].toSorted(compareByName))
  console.log(
    `${name.padEnd(60)} ${((outcome.tookMs.get(name) ?? 0) / (withCredential + withoutCredential)).toFixed(1).padStart(8)} ms, ${withCredential} with a credential, ${withoutCredential} without${carriedOut > 0 ? `, ${carriedOut} carried out` : ''}`,
  )
for (const [kind, count] of [...outcome.kinds].toSorted((first, second) => second[1] - first[1]))
  console.log(`${String(count).padStart(8)}  ${kind}`)
for (const [status, count] of [...outcome.statuses].toSorted(compareByName))
  console.log(`${String(count).padStart(8)}  ${status}`)
console.log(
  `${outcome.slowCallers} callers never finished a request, ${outcome.slowBodies.size} targets got slow bodies, ` +
    `${outcome.unreadTargets.size} targets had callers that did not read the answer`,
)
console.log(
  `${outcome.requestCount} requests in ${outcome.seconds.toFixed(1)} s (${Math.round(outcome.requestCount / outcome.seconds)} per second), ` +
    `${outcome.newFacts} facts, ${formatMemory(outcome.memory)}, ` +
    `slowest good request ${Math.round(outcome.slowestMs)} ms, ${outcome.violations.length} faults`,
)
await market.product.stop()
const failed = outcome.violations.length
console.log(`\n${formatTestCounts({ passed: outcome.requestCount - failed, failed, skipped: 0 })}`)
process.exit(failed === 0 ? 0 : 1)
