import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fetchPinned } from './pinned.ts'
import { planOf } from './draw-plan.ts'
import type { Plan } from './plan.ts'
import { openPool, type Pool } from './pool.ts'
import { report, WHOLE } from './report.ts'
import type { Outcome } from './run-plan.ts'
import { OCCASIONS } from './reached.ts'
import { shrink, sizeOf } from './shrink.ts'
import { tally } from './tally.ts'

const HELP = `npm run simulate -- --seeds 10000 [--from 1] [--workers N]   many seeds, and docs/simulation.md
                     --report                                 writes it for fewer seeds too
                     --keep-going                             stops at no failing seed
npm run simulate -- --seed 17 [--trace]                       one seed again
npm run simulate -- --plan <file> [--trace]                   a plan that a failing seed was shrunk to`
const SAID_EVERY = 50
const MOST_FAILED = 5

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: `${availableParallelism()}` },
    seed: { type: 'string' },
    plan: { type: 'string' },
    trace: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})
const [seeds, from, workers] = [values.seeds ?? '150', values.from, values.workers].map(Number)
if (![seeds, from, workers].every((one) => Number.isInteger(one) && (one ?? 0) > 0)) {
  console.error(HELP)
  process.exit(2)
}
const missing = fetchPinned()
if (missing !== undefined) console.log(`No process runs with earlier contracts, which fails a run of ${WHOLE} seeds: ${missing}.`)

// Written by this very program.
function readPlan(file: string): Plan {
  return JSON.parse(readFileSync(file, 'utf8')) as Plan
}

async function one(plan: Plan): Promise<boolean> {
  const pool = openPool(1)
  const outcome = await pool.run({ plan })
  if (values.trace) console.log([...outcome.diary, '', 'The last steps:', ...outcome.recent].join('\n'))
  console.log(line(outcome))
  if (outcome.broken && !values.trace) tell(outcome)
  pool.close()
  return !outcome.broken
}

async function many(first: number, count: number, lanes: number): Promise<boolean> {
  const pool = openPool(lanes)
  const sums = tally()
  const failed: Outcome[] = []
  const mostFailed = values['keep-going'] ? Infinity : MOST_FAILED
  const begun = performance.now()
  let next = first
  const lane = async (): Promise<void> => {
    for (let seed = next++; seed < first + count && failed.length < mostFailed; seed = next++) {
      const outcome = await pool.run({ plan: planOf(seed) })
      sums.add(outcome)
      if (outcome.broken) failed.push(outcome)
      if (outcome.broken || sums.seeds() % SAID_EVERY === 0)
        console.log(`${sums.seeds()}/${count} seeds, ${Math.round((performance.now() - begun) / 1000)} s  ${line(outcome)}`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const [worst] = failed
  if (worst) await explain(pool, worst)
  pool.close()
  const gaps = sums.missing()
  if (count >= WHOLE || values.report)
    writeFileSync(join(root, 'docs/simulation.md'), report(sums, { from: first, seeds: count }))
  if (count >= WHOLE || values.report || values['keep-going']) {
    for (const gap of gaps) console.log(gap)
    for (const name of Object.values(OCCASIONS).flat()) console.log(`${sums.faults.get(name) ?? 0} × ${name}`)
  }
  console.log(
    `${sums.seeds()} seeds, ${failed.length} failed${failed.length > 0 ? `: ${failed.map(({ plan }) => plan.seed).join(', ')}` : ''}; ${gaps.length} things not reached.`,
  )
  return failed.length === 0 && (count < WHOLE || gaps.length === 0)
}

const line = ({ plan, steps, virtualMs, cpuMs, trace, statuses, broken }: Outcome): string =>
  `seed ${plan.seed}: ${steps} steps, ${(virtualMs / 1000).toFixed(0)} s, ${cpuMs} ms of CPU, trace ${trace} ${broken ? `BROKEN ${broken.message}` : JSON.stringify(statuses)}`

function tell({ broken, diary, recent }: Outcome): void {
  console.log(['', ...diary.slice(-80), '', 'The last steps:', ...recent.slice(-40), '', broken?.stack].join('\n'))
}

/** Prints a failure, makes its plan as small as it gets, and says how to repeat it. */
async function explain(pool: Pool, outcome: Outcome): Promise<void> {
  tell(outcome)
  const { plan, broken } = outcome
  console.log(
    `\nSeed ${plan.seed} breaks "${broken?.invariant}". Again: npm run simulate -- --seed ${plan.seed} --trace\nShrinking a plan of ${sizeOf(plan)} parts …`,
  )
  const small = await shrink(plan, async (smaller) => (await pool.run({ plan: smaller })).broken?.invariant === broken?.invariant)
  const folder = join(root, 'node_modules/.cache/penstock/simulation')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `seed-${plan.seed}.json`)
  writeFileSync(file, JSON.stringify(small, null, 1))
  console.log(`${JSON.stringify(small)}\n${sizeOf(small)} parts are left. Again: npm run simulate -- --plan ${file} --trace`)
}

const single =
  values.plan !== undefined ? readPlan(values.plan) : values.seed !== undefined ? planOf(Number(values.seed)) : undefined
process.exit((await (single ? one(single) : many(from ?? 1, seeds ?? 1, workers ?? 1))) ? 0 : 1)
