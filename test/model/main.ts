import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { installTlc, tlcMissing } from '../../tools/tlc.ts'
import { optionsAndWordsOf, refuse } from '../harness/options.ts'
import { checkAll, isAsExpected } from './check-all.ts'
import { configurations } from './configurations.ts'
import { row, summary, withResults } from './report.ts'
import { check } from './tlc.ts'
import { traceOf } from './trace.ts'

/** `npm run model [-- <pattern>]`: ends with 1 where a result is not the expected one, with 2 where nothing could be checked. */
const USAGE = `Use: npm run model [-- <pattern of names>] [--jobs <at once>] [--list] [--trace] [--write]; --write needs all configurations, and that all are as expected.`
const { values, positionals } = optionsAndWordsOf(
  {
    jobs: { type: 'string', default: `${availableParallelism()}` },
    list: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  USAGE,
)
const jobs = Number(values.jobs)
const chosen = configurations.filter(
  ({ name }) => positionals.length === 0 || positionals.some((pattern) => name.includes(pattern)),
)
if (chosen.length === 0) refuse('No configuration has such a name; --list shows them.', USAGE)
if (!Number.isInteger(jobs) || jobs < 1) refuse('--jobs takes a whole number from 1 on.', USAGE)
if (values.write && chosen.length < configurations.length) refuse('--write needs all configurations.', USAGE)

if (values.list)
  for (const { name, about, expected } of chosen) console.log(`${name.padEnd(40)}  ${expected.padEnd(22)}  ${about}`)
else await checkChosen()

async function checkChosen(): Promise<void> {
  const missing = tlcMissing()
  if (missing !== undefined) refuse(missing, USAGE)
  const jar = installTlc()
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const checked = await checkAll(
    chosen,
    jobs,
    (configuration) => check(jar, configuration, stop.signal),
    (one) => {
      if (stop.signal.aborted) return
      console.log(row(one))
      const { result, output } = one.outcome
      if (result === 'error') console.log(output.trim())
      else if (values.trace && result !== 'holds') console.log(traceOf(output).join('\n'))
    },
    stop.signal,
  )
  if (stop.signal.aborted) {
    process.exitCode = 130
    return
  }
  console.log(`\n${summary(checked)}`)
  const isExpected = checked.every(isAsExpected)
  if (!isExpected) process.exitCode = 1
  const page = join(import.meta.dirname, '../../docs/model/README.md')
  if (values.write && isExpected) writeFileSync(page, withResults(readFileSync(page, 'utf8'), checked))
}
