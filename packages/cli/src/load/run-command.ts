import { writeFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { printResult } from '../command-context.ts'
import { type LoadCommandOptions, type LoadContext, openLoadAccess, runInterruptible, runShownLoad } from './load-access.ts'
import { listFailures, outcomeToJson, formatOutcome } from './report/outcome-format.ts'
import { renderReport } from './report/report.ts'

/** Runs `penstock load`. @throws Failure if it cannot start, if a check fails, or for too many errors */
export async function runLoadCommand(options: LoadCommandOptions, context: LoadContext): Promise<void> {
  const { settings, out: reportFile } = options
  const access = await openLoadAccess(options, context)
  const outcome = await runInterruptible(context.err, (interrupt) => runShownLoad(access, context, { settings, interrupt }))
  if (reportFile !== undefined) writeFileSync(reportFile, renderReport(outcome))
  printResult(context, options, outcomeToJson(outcome), () => formatOutcome(outcome))
  const failures = listFailures(outcome)
  if (failures.length > 0) throw new Failure(failures.join('\n'))
}
