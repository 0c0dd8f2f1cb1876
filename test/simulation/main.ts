import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseCommandOptions, exitWithUsage } from '../support/options.ts'
import { describeCheckout } from '../support/git.ts'
import { formatTestCounts } from '../support/test-counts.ts'
import { drawPlan } from './plan/draw-plan.ts'
import type { SimulationPlan } from './plan/plan.ts'
import { isWorkerLost, createSimulationWorkers, type SimulationWorkers } from './pool.ts'
import { hasPassed, formatReport, FULL_RUN_SEEDS } from './report.ts'
import { OCCURRENCES } from './coverage.ts'
import type { SeedOutcome } from './run-plan.ts'
import { isComplete, type RunProgress, type SeedRun, runSeeds } from './run-seeds.ts'
import type { SeedTotals } from './seed-totals.ts'
import { createResumableRun } from './resume.ts'
import { marketDefects } from './broken-market/defects.ts'
import { shrinkPlan, measurePlan } from './shrink.ts'

const USAGE = `npm run simulate -- --seeds 10000 [--from 1] [--workers N]   run many seeds; 10,000 or more write docs/simulation.md
                     --report                                 with fewer seeds, write the report to the cache folder
                     --keep-going                             continue after failing seeds and lost workers
                     --continue                               resume the same run with the same code
npm run simulate -- --seed 17 [--trace]                       repeat one seed
npm run simulate -- --plan <file> [--trace]                   run the plan that a failing seed was shrunk to
                     --sabotage <name>                        with each of these: break the market on purpose`
const PROGRESS_EVERY = 50

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/penstock/simulation')
const values = parseCommandOptions(
  {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: `${availableParallelism()}` },
    seed: { type: 'string' },
    plan: { type: 'string' },
    trace: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    continue: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
  },
  USAGE,
)
const [seeds, from, workers, seed] = [values.seeds ?? '150', values.from, values.workers, values.seed ?? '1'].map(Number)
const { sabotage: defect } = values
const isKnownDefect = defect === undefined || Object.hasOwn(marketDefects, defect)
if (!isKnownDefect || ![seeds, from, workers, seed].every((value) => Number.isInteger(value) && (value ?? 0) > 0)) {
  console.error(USAGE)
  process.exit(2)
}

function readPlan(file: string): SimulationPlan {
  try {
    const plan = JSON.parse(readFileSync(file, 'utf8')) as SimulationPlan // The next line checks the fields.
    const missingFields = Object.keys(drawPlan(1)).filter((name) => !Object.hasOwn(plan, name))
    return missingFields.length === 0 ? plan : exitWithUsage(`${file} is not a plan: it lacks ${missingFields.join(', ')}`, USAGE)
  } catch (error) {
    return exitWithUsage(`${file} is not a plan: ${error instanceof Error ? error.message : String(error)}`, USAGE)
  }
}

/** Creates workers that run the market, with the defect of `--sabotage` if the option is given. */
function createPool(size: number): SimulationWorkers {
  const pool = createSimulationWorkers(size)
  return defect === undefined ? pool : { ...pool, run: ({ plan }) => pool.run({ plan, defect }) }
}

/** Stops the workers, and prints each worker that ended by itself. @returns whether no worker ended by itself */
function closePool(pool: SimulationWorkers): boolean {
  for (const exit of pool.unexpectedExits()) console.log(`A worker ended by itself: ${exit}.`)
  pool.close()
  return pool.unexpectedExits().length === 0
}

async function runOneSeed(plan: SimulationPlan): Promise<boolean> {
  const pool = createPool(1)
  const outcome = await pool.run({ plan })
  if (values.trace) console.log([...outcome.traceLines, '', 'The last steps:', ...outcome.recentSteps].join('\n'))
  console.log(formatOutcome(outcome))
  if (outcome.violation && !values.trace) printFailure(outcome)
  const isClosed = closePool(pool)
  console.log(formatTestCounts({ passed: outcome.violation ? 0 : 1, failed: outcome.violation ? 1 : 0, skipped: 0 }))
  return isClosed && !outcome.violation
}

async function runManySeeds(firstSeed: number, count: number, workerCount: number): Promise<boolean> {
  const pool = createPool(workerCount)
  console.log(`seeds ${firstSeed}-${firstSeed + count - 1}`)
  const startedAt = performance.now()
  const commit = describeCheckout()
  const stored = createResumableRun(CACHE, { from: firstSeed, count, commit, defect }, describeCheckout)
  const progress = values.continue ? stored.read() : undefined
  if (values.continue)
    console.log(progress ? `Resuming after ${progress.doneSeeds.length} seeds.` : 'No run to resume; starting a new one.')
  const seeds = { from: firstSeed, count, workerCount, keepGoing: values['keep-going'] }
  const printProgress = (outcome: SeedOutcome, totals: SeedTotals, progress: () => RunProgress): void => {
    if (totals.seeds() % PROGRESS_EVERY === 0) stored.write(progress())
    if (outcome.violation || totals.seeds() % PROGRESS_EVERY === 0)
      console.log(
        `${totals.seeds()}/${count} seeds, ${Math.round((performance.now() - startedAt) / 1000)} s  ${formatOutcome(outcome)}`,
      )
  }
  const run = await runSeeds(pool, seeds, printProgress, progress)
  if (isComplete(run)) stored.remove()
  const failure = run.failed.find((outcome) => !isWorkerLost(outcome))
  if (failure) await explainFailure(pool, failure)
  const isClosed = closePool(pool)
  const code = stored.readCode()
  if (code !== commit) console.log('The code changed during the run: its seeds ran different code, and it cannot be resumed.')
  printSummary(run, code)
  return isClosed && hasPassed(run)
}

/** Writes the report if `choosePagePath` gives a path, and prints the results of all seeds. */
function printSummary(run: SeedRun, commit: string): void {
  const { totals, failed, count } = run
  const gaps = totals.missing()
  const page = choosePagePath(run)
  if (page !== undefined) {
    mkdirSync(dirname(page), { recursive: true })
    writeFileSync(page, formatReport(run, { commit, date: new Date() }))
  }
  if (page !== undefined || !isComplete(run) || values['keep-going']) {
    for (const gap of gaps) console.log(gap)
    for (const name of Object.values(OCCURRENCES).flat()) console.log(`${totals.faults.get(name) ?? 0} × ${name}`)
  }
  for (const { plan, violation } of failed) console.log(`seed ${plan.seed} failed: ${violation?.message}`)
  if (page !== undefined) console.log(`Report: ${page}`)
  if (!isComplete(run)) console.log(`The run ended after ${totals.seeds()} of ${count} seeds, so that it writes no report.`)
  console.log(
    `${totals.seeds()} seeds, ${failed.length} failed${failed.length > 0 ? `: ${failed.map(({ plan }) => plan.seed).join(', ')}` : ''}; ${gaps.length} names not covered.`,
  )
  console.log(
    formatTestCounts({ passed: totals.seeds() - failed.length, failed: failed.length, skipped: count - totals.seeds() }),
  )
}

/** @returns the path of the report, or undefined if the run writes none. Only a full run replaces docs/simulation.md. */
function choosePagePath(run: SeedRun): string | undefined {
  if (!isComplete(run) || defect !== undefined) return undefined
  if (run.count >= FULL_RUN_SEEDS) return join(ROOT, 'docs/simulation.md')
  return values.report ? join(CACHE, 'simulation.md') : undefined
}

const formatOutcome = ({ plan, steps, virtualMs, cpuMs, scheduleTrace, statuses, violation }: SeedOutcome): string =>
  `seed ${plan.seed}: ${steps} steps, ${(virtualMs / 1000).toFixed(0)} s, ${cpuMs} ms of CPU, trace ${scheduleTrace} ${violation ? `BROKEN ${violation.message}` : JSON.stringify(statuses)}`

function printFailure({ violation, traceLines, recentSteps }: SeedOutcome): void {
  console.log(['', ...traceLines.slice(-80), '', 'The last steps:', ...recentSteps.slice(-40), '', violation?.stack].join('\n'))
}

/** Prints a failure, shrinks its plan, and prints the commands that repeat both runs. */
async function explainFailure(pool: SimulationWorkers, outcome: SeedOutcome): Promise<void> {
  printFailure(outcome)
  const { plan, violation } = outcome
  const options = defect === undefined ? '--trace' : `--sabotage "${defect}" --trace`
  console.log(
    `\nSeed ${plan.seed} breaks "${violation?.invariant}". To repeat: npm run simulate -- --seed ${plan.seed} ${options}\nShrinking a plan of ${measurePlan(plan)} parts …`,
  )
  const smallest = await shrinkPlan(
    plan,
    async (smaller) => (await pool.run({ plan: smaller })).violation?.invariant === violation?.invariant,
  )
  mkdirSync(CACHE, { recursive: true })
  const file = join(CACHE, `seed-${plan.seed}${defect === undefined ? '' : '-sabotaged'}.json`)
  writeFileSync(file, JSON.stringify(smallest, null, 1))
  console.log(
    `${JSON.stringify(smallest)}\n${formatOutcome(await pool.run({ plan: smallest }))}\n${measurePlan(smallest)} parts are left. To repeat: npm run simulate -- --plan ${file} ${options}`,
  )
}

const singlePlan =
  values.plan !== undefined ? readPlan(values.plan) : values.seed !== undefined ? drawPlan(Number(values.seed)) : undefined
process.exit((await (singlePlan ? runOneSeed(singlePlan) : runManySeeds(from ?? 1, seeds ?? 1, workers ?? 1))) ? 0 : 1)
