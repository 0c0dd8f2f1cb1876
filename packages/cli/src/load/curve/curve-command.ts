import { writeFileSync } from 'node:fs'
import { Failure } from '../../failure.ts'
import { printResult } from '../../command-context.ts'
import { type LoadCommandOptions, type LoadContext, openLoadAccess, runInterruptible } from '../load-access.ts'
import { curveToJson, formatCurve, listCurveFailures } from './curve-format.ts'
import { renderCurveReport } from './curve-report.ts'
import { runCurve } from './run-curve.ts'

/** Runs `penstock load --curve`. @throws Failure if it cannot start, if a paid order was lost, or if a load fails */
export async function runCurveCommand(options: LoadCommandOptions, context: LoadContext): Promise<void> {
  const { settings, out: reportFile } = options
  const access = await openLoadAccess(options, context)
  const report = await runInterruptible(context.err, (interrupt) => runCurve({ access, settings, interrupt, err: context.err }))
  if (reportFile !== undefined) writeFileSync(reportFile, renderCurveReport(report))
  printResult(context, options, curveToJson(report), () => formatCurve(report))
  const failures = listCurveFailures(report)
  if (failures.length > 0) throw new Failure(failures.join('\n'))
}
