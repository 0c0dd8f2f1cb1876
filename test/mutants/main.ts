import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseCommandOptions } from '../support/options.ts'
import { formatTestCounts } from '../support/test-counts.ts'
import { allMutants } from './all.ts'
import { CHECKOUT_ROOT } from './checkout-copy.ts'
import { runMutants, isMutantKilled } from './run-mutants.ts'
import { mutantAreas } from './mutant.ts'
import { endAllRuns } from './run-tests.ts'
import { formatMutantsPage, formatVerdict, formatMutantSummary } from './table.ts'

/** `npm run proof -- mutants` exits with 1 if a mutant survives, and with 2 if the mutants could not be tested. */
const USAGE = `Usage: npm run proof -- mutants [--area <area> | --id <mutant>] [--jobs <n>] [--list] [--write]; --write needs all mutants, and writes the page only if none survives.
Areas: ${mutantAreas.join(', ')}. To list the mutants: npm run proof -- mutants --list.`
const values = parseCommandOptions(
  {
    area: { type: 'string' },
    id: { type: 'string' },
    jobs: { type: 'string', default: `${availableParallelism()}` },
    list: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  USAGE,
)
const jobs = Number(values.jobs)
const chosenMutants = allMutants.filter(
  ({ id, area }) => (values.area === undefined || area === values.area) && (values.id === undefined || id === values.id),
)
if (
  chosenMutants.length === 0 ||
  !Number.isInteger(jobs) ||
  jobs < 1 ||
  (values.write && chosenMutants.length < allMutants.length)
) {
  console.error(USAGE)
  process.exit(2)
}
if (values.list) {
  for (const { id, area, description } of chosenMutants) console.log(`${id.padEnd(34)}  ${area.padEnd(10)}  ${description}`)
} else {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      stop.abort()
      endAllRuns()
    })
  await runChosen(stop.signal)
  if (stop.signal.aborted) process.exitCode = 130
}

async function runChosen(signal: AbortSignal): Promise<void> {
  console.log(
    `${chosenMutants.length} mutants, ${Math.min(jobs, chosenMutants.length)} at a time; first their tests run without a mutant.`,
  )
  try {
    const verdicts = await runMutants(chosenMutants, jobs, (verdict) => console.log(formatVerdict(verdict)), signal)
    if (signal.aborted) return
    console.log(`\n${formatMutantSummary(verdicts)}`)
    const killed = verdicts.filter(isMutantKilled).length
    const allKilled = killed === verdicts.length
    if (!allKilled) process.exitCode = 1
    console.log(`\n${formatTestCounts({ passed: killed, failed: verdicts.length - killed, skipped: 0 })}`)
    if (values.write && allKilled) writeFileSync(join(CHECKOUT_ROOT, 'docs/mutants.md'), formatMutantsPage(verdicts))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  }
}
