import { closeSync, openSync, writeFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { type CliEnv, readConfiguredToken, readServiceUrl, readStoredToken } from '../operator-client.ts'
import { printResult, type CommandContext } from '../command-context.ts'
import { isThisMachine, resolveMarketAddress } from './market/market-address.ts'
import { listFailures, outcomeToJson, formatOutcome } from './report/outcome-format.ts'
import { openProgressLine } from './progress.ts'
import { renderReport } from './report/report.ts'
import { runLoad } from './run-load.ts'
import type { LoadSettings } from './settings.ts'
import { RequestError } from './market/request-error.ts'

export type LoadContext = CommandContext & { readonly env: CliEnv; readonly err: (text: string) => void }

type LoadCommandOptions = {
  readonly settings: LoadSettings
  readonly url?: string
  readonly out?: string
  readonly iOwnThis?: boolean
  readonly json?: boolean
}

/** Runs `penstock load`. @throws Failure if it cannot start, if a check fails, or for too many errors */
export async function runLoadCommand(options: LoadCommandOptions, { env, out, err, ...shell }: LoadContext): Promise<void> {
  const { settings, url = readServiceUrl(env), out: reportFile } = options
  const marketAddress = await resolveMarketAddress(url, options.iOwnThis === true)
  if (reportFile !== undefined) requireWritable(reportFile)
  // The token in the data folder of this machine is sent only to this machine.
  const token = readConfiguredToken(env) ?? (isThisMachine(marketAddress) ? readStoredToken(env) : undefined)
  const columns = process.stderr.isTTY ? process.stderr.columns : undefined
  const progress = openProgressLine({ write: err, ratePerSecond: settings.ratePerSecond, columns })
  const outcome = await runInterruptible(err, (interrupt) =>
    runLoad({ marketAddress, token, settings, interrupt, progress: progress.show })
      .finally(progress.end)
      .catch((error: unknown) => {
        throw error instanceof RequestError ? new Failure(`The load cannot start: ${error.message}.`) : error
      }),
  )
  if (reportFile !== undefined) writeFileSync(reportFile, renderReport(outcome))
  printResult({ out, ...shell }, options, outcomeToJson(outcome), () => formatOutcome(outcome))
  const failures = listFailures(outcome)
  if (failures.length > 0) throw new Failure(failures.join('\n'))
}

/** Checks before the load that the report can be written. */
function requireWritable(reportFile: string): void {
  try {
    closeSync(openSync(reportFile, 'a'))
  } catch (error) {
    throw new Failure(`${reportFile} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The first Ctrl-C ends the load early, and the run reports its measurements so far. The second ends the program. */
async function runInterruptible<T>(err: (text: string) => void, run: (interrupt: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const interruptRun = (): void => {
    err('\nNo more orders start; the report follows within half a minute. Press Ctrl-C again to end the program.\n')
    interrupt.abort()
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, interruptRun)
  try {
    return await run(interrupt.signal)
  } finally {
    for (const signal of signals) process.off(signal, interruptRun)
  }
}
