import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { optionsOf, refuse } from '../harness/options.ts'
import { checkedOut } from './checkout.ts'
import { planOf } from './draw-plan.ts'
import { fetchPinned } from './pinned.ts'
import type { Plan } from './plan.ts'
import { isWorkerLost, openPool, type Pool } from './pool.ts'
import { hasPassed, report, WHOLE } from './report.ts'
import { OCCASIONS } from './reached.ts'
import type { Outcome } from './run-plan.ts'
import { isWhole, type Progress, type Run, runSeeds } from './run-seeds.ts'
import type { Tally } from './tally.ts'
import { keptRun } from './kept.ts'
import { sabotages } from './sabotage.ts'
import { shrink, sizeOf } from './shrink.ts'

const HELP = `npm run simulate -- --seeds 10000 [--from 1] [--workers N]   many seeds; 10,000 and more write docs/simulation.md
                     --report                                 fewer write it too, to a place beside the documents
                     --keep-going                             stops at no failing seed, and at no worker that is lost
                     --continue                               goes on where the same run with the same code was ended
npm run simulate -- --seed 17 [--trace]                       one seed again
npm run simulate -- --plan <file> [--trace]                   a plan that a failing seed was shrunk to
                     --sabotage <name>                        with each of these: a market that is broken on purpose`
const SAID_EVERY = 50

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = join(root, 'node_modules/.cache/penstock/simulation')
const values = optionsOf(
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
  HELP,
)
const [seeds, from, workers, seed] = [values.seeds ?? '150', values.from, values.workers, values.seed ?? '1'].map(Number)
const { sabotage } = values
const isKnown = sabotage === undefined || Object.hasOwn(sabotages, sabotage)
if (!isKnown || ![seeds, from, workers, seed].every((one) => Number.isInteger(one) && (one ?? 0) > 0)) {
  console.error(HELP)
  process.exit(2)
}
const missing = fetchPinned()
if (missing !== undefined) console.log(`No process runs with earlier contracts, which fails a run of ${WHOLE} seeds: ${missing}.`)

function readPlan(file: string): Plan {
  try {
    const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan // written by this very program, or it lacks what those have
    const lacks = Object.keys(planOf(1)).filter((name) => !Object.hasOwn(plan, name))
    return lacks.length === 0 ? plan : refuse(`${file} is no plan: it lacks ${lacks.join(', ')}`, HELP)
  } catch (error) {
    return refuse(`${file} is no plan: ${error instanceof Error ? error.message : String(error)}`, HELP)
  }
}

/** Workers for the market that was asked for: the one that there is, or a broken one. */
function poolOf(size: number): Pool {
  const pool = openPool(size)
  return sabotage === undefined ? pool : { ...pool, run: ({ plan }) => pool.run({ plan, sabotage }) }
}

/** @returns whether every worker has ended as it was told to */
function closed(pool: Pool): boolean {
  for (const stray of pool.strays()) console.log(`It ended by itself: ${stray}.`)
  pool.close()
  return pool.strays().length === 0
}

async function one(plan: Plan): Promise<boolean> {
  const pool = poolOf(1)
  const outcome = await pool.run({ plan })
  if (values.trace) console.log([...outcome.diary, '', 'The last steps:', ...outcome.recent].join('\n'))
  console.log(line(outcome))
  if (outcome.broken && !values.trace) tell(outcome)
  return closed(pool) && !outcome.broken
}

async function many(first: number, count: number, lanes: number): Promise<boolean> {
  const pool = poolOf(lanes)
  const begun = performance.now()
  const commit = checkedOut()
  const kept = keptRun(cache, { from: first, count, commit, sabotage, isPinned: missing === undefined }, checkedOut)
  const before = values.continue ? kept.read() : undefined
  if (values.continue) console.log(before ? `It goes on after ${before.done.length} seeds.` : 'There is nothing to go on with.')
  const seeds = { from: first, count, lanes, keepGoing: values['keep-going'] }
  const tellOne = (outcome: Outcome, sums: Tally, progress: () => Progress): void => {
    if (sums.seeds() % SAID_EVERY === 0) kept.write(progress())
    if (outcome.broken || sums.seeds() % SAID_EVERY === 0)
      console.log(`${sums.seeds()}/${count} seeds, ${Math.round((performance.now() - begun) / 1000)} s  ${line(outcome)}`)
  }
  const run = await runSeeds(pool, seeds, tellOne, before)
  if (isWhole(run)) kept.remove()
  const worst = run.failed.find((outcome) => !isWorkerLost(outcome))
  if (worst) await explain(pool, worst)
  const isClosed = closed(pool)
  const code = kept.code()
  if (code !== commit) console.log('The code has changed while it ran: it was not one market, and no run goes on with this one.')
  conclude(run, code)
  return isClosed && hasPassed(run)
}

/** Writes the page, where there is to be one, and says what became of all seeds. */
function conclude(run: Run, commit: string): void {
  const { sums, failed, count } = run
  const gaps = sums.missing()
  const page = pageOf(run)
  if (page !== undefined) {
    mkdirSync(dirname(page), { recursive: true })
    writeFileSync(page, report(run, { commit, on: new Date() }))
  }
  if (page !== undefined || !isWhole(run) || values['keep-going']) {
    for (const gap of gaps) console.log(gap)
    for (const name of Object.values(OCCASIONS).flat()) console.log(`${sums.faults.get(name) ?? 0} × ${name}`)
  }
  for (const { plan, broken } of failed) console.log(`seed ${plan.seed} failed: ${broken?.message}`)
  if (page !== undefined) console.log(`The report: ${page}`)
  if (!isWhole(run)) console.log(`The run ended after ${sums.seeds()} of ${count} seeds: it writes no report.`)
  console.log(
    `${sums.seeds()} seeds, ${failed.length} failed${failed.length > 0 ? `: ${failed.map(({ plan }) => plan.seed).join(', ')}` : ''}; ${gaps.length} things not reached.`,
  )
}

/** The page among the documents is of a whole run of enough seeds with the market that there is, or stays as it is. */
function pageOf(run: Run): string | undefined {
  if (!isWhole(run) || sabotage !== undefined) return undefined
  if (run.count >= WHOLE) return join(root, 'docs/simulation.md')
  return values.report ? join(cache, 'simulation.md') : undefined
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
  const how = sabotage === undefined ? '--trace' : `--sabotage "${sabotage}" --trace`
  console.log(
    `\nSeed ${plan.seed} breaks "${broken?.invariant}". Again: npm run simulate -- --seed ${plan.seed} ${how}\nShrinking a plan of ${sizeOf(plan)} parts …`,
  )
  const small = await shrink(plan, async (smaller) => (await pool.run({ plan: smaller })).broken?.invariant === broken?.invariant)
  mkdirSync(cache, { recursive: true })
  const file = join(cache, `seed-${plan.seed}${sabotage === undefined ? '' : '-sabotaged'}.json`)
  writeFileSync(file, JSON.stringify(small, null, 1))
  console.log(
    `${JSON.stringify(small)}\n${line(await pool.run({ plan: small }))}\n${sizeOf(small)} parts are left. Again: npm run simulate -- --plan ${file} ${how}`,
  )
}

const single =
  values.plan !== undefined ? readPlan(values.plan) : values.seed !== undefined ? planOf(Number(values.seed)) : undefined
process.exit((await (single ? one(single) : many(from ?? 1, seeds ?? 1, workers ?? 1))) ? 0 : 1)
