import { optionsOf } from '../harness/options.ts'
import { campaign } from './campaign.ts'
import { openMarket } from './market.ts'
import { toldMemory } from './memory.ts'

/** `npm run hostile -- --runs 100000 [--seed N]`: tries so many hostile requests; ends with 1 where something gave way. */
const USAGE = 'Use: npm run hostile -- [--runs <whole number>] [--seed <whole number>]; 5000 runs where you do not say'
const values = optionsOf({ runs: { type: 'string', default: '5000' }, seed: { type: 'string' } }, USAGE)
const runs = Number(values.runs)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (!Number.isInteger(runs) || runs < 1 || !Number.isInteger(seed) || seed < 0) {
  console.error(USAGE)
  process.exit(2)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

console.log(`seed ${seed}; again: npm run hostile -- --runs ${runs} --seed ${seed}`)
const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number => (one < other ? -1 : 1)
const market = await openMarket()
const outcome = await campaign(market, { runs, seed, found: (fault) => console.log(`\nFAULT ${fault}\n`) })
for (const [name, { known, nobody, carriedOut }] of [...outcome.targets].toSorted(byName))
  console.log(
    `${name.padEnd(60)} ${((outcome.tookMs.get(name) ?? 0) / (known + nobody)).toFixed(1).padStart(8)} ms, ${known} with a credential, ${nobody} without${carriedOut > 0 ? `, ${carriedOut} carried out` : ''}`,
  )
for (const [kind, count] of [...outcome.kinds].toSorted((one, other) => other[1] - one[1]))
  console.log(`${String(count).padStart(8)}  ${kind}`)
for (const [status, count] of [...outcome.statuses].toSorted(byName)) console.log(`${String(count).padStart(8)}  ${status}`)
console.log(
  `${outcome.slowCallers} callers never came to an end, ${outcome.dripped.size} addresses and operations were sent bodies in pieces, ` +
    `${outcome.unread.size} were asked by callers who do not read`,
)
console.log(
  `${outcome.shots} requests in ${outcome.seconds.toFixed(1)} s (${Math.round(outcome.shots / outcome.seconds)} a second), ` +
    `${outcome.newFacts} facts, ${toldMemory(outcome.memory)}, ` +
    `slowest good request ${Math.round(outcome.slowestMs)} ms, ${outcome.faults.length} faults`,
)
await market.product.stop()
process.exit(outcome.faults.length === 0 ? 0 : 1)
