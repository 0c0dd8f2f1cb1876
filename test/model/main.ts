import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { installTlc, explainMissingTlc } from '../../tools/tlc.ts'
import { parseOptionsAndPositionals, exitWithUsage } from '../support/options.ts'
import { formatTestCounts } from '../support/test-counts.ts'
import { checkAll, isAsExpected } from './check-all.ts'
import { modelConfigurations } from './configurations.ts'
import { formatChecked, formatModelSummary, replaceResults } from './report.ts'
import { runTlcCheck } from './tlc.ts'
import { formatTlcTrace } from './trace.ts'

/** `npm run proof -- model [<patterns>]` exits with 1 if a result is unexpected, and with 2 if it cannot check any configuration. */
const USAGE = `Usage: npm run proof -- model [<patterns>] [--jobs <n>] [--list] [--trace] [--write]; --write needs all configurations, and writes the page only if all results are as expected.`
const { values, positionals } = parseOptionsAndPositionals(
  {
    jobs: { type: 'string', default: `${availableParallelism()}` },
    list: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  USAGE,
)
const jobs = Number(values.jobs)
const chosenConfigurations = modelConfigurations.filter(
  ({ name }) => positionals.length === 0 || positionals.some((pattern) => name.includes(pattern)),
)
if (chosenConfigurations.length === 0) exitWithUsage('No configuration matches; --list prints all names.', USAGE)
if (!Number.isInteger(jobs) || jobs < 1) exitWithUsage('--jobs needs a whole number of at least 1.', USAGE)
if (values.write && chosenConfigurations.length < modelConfigurations.length)
  exitWithUsage('--write needs all configurations.', USAGE)

if (values.list)
  for (const { name, description, expected } of chosenConfigurations)
    console.log(`${name.padEnd(40)}  ${expected.padEnd(22)}  ${description}`)
else await checkChosen()

async function checkChosen(): Promise<void> {
  const skipReason = explainMissingTlc()
  if (skipReason !== undefined) exitWithUsage(skipReason, USAGE)
  const jar = installTlc()
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const checked = await checkAll(
    chosenConfigurations,
    jobs,
    (configuration) => runTlcCheck(jar, configuration, stop.signal),
    (checkedOne) => {
      if (stop.signal.aborted) return
      console.log(formatChecked(checkedOne))
      const { result, output } = checkedOne.outcome
      if (result === 'error') console.log(output.trim())
      else if (values.trace && result !== 'holds') console.log(formatTlcTrace(output).join('\n'))
    },
    stop.signal,
  )
  if (stop.signal.aborted) {
    process.exitCode = 130
    return
  }
  console.log(`\n${formatModelSummary(checked)}`)
  const passed = checked.filter(isAsExpected).length
  const isExpected = passed === checked.length
  console.log(`\n${formatTestCounts({ passed, failed: checked.length - passed, skipped: 0 })}`)
  if (!isExpected) process.exitCode = 1
  const page = join(import.meta.dirname, '../../docs/model/README.md')
  if (values.write && isExpected) writeFileSync(page, replaceResults(readFileSync(page, 'utf8'), checked))
}
