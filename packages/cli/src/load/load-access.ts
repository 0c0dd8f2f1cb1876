import { closeSync, openSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { type CliEnv, readConfiguredToken, readServiceUrl, readStoredToken } from '../operator-client.ts'
import type { CommandContext } from '../command-context.ts'
import { isThisMachine, type MarketAddress, resolveMarketAddress } from './market/market-address.ts'
import { RequestError } from './market/request-error.ts'
import { openProgressLine } from './progress.ts'
import { type LoadOutcome, type LoadRunOptions, runLoad } from './run-load.ts'
import type { LoadSettings } from './settings.ts'

export type LoadContext = CommandContext & { readonly env: CliEnv; readonly err: (text: string) => void }

export type LoadCommandOptions = {
  readonly settings: LoadSettings
  readonly url?: string
  readonly out?: string
  readonly iOwnThis?: boolean
  readonly json?: boolean
}

/** The market of a load command, and the token for its operator interface. */
export type LoadAccess = { readonly marketAddress: MarketAddress; readonly token: string | undefined }

/** @throws Failure if the address is refused, or if the report cannot be written */
export async function openLoadAccess(
  { url, out, iOwnThis }: Pick<LoadCommandOptions, 'url' | 'out' | 'iOwnThis'>,
  { env }: Pick<LoadContext, 'env'>,
): Promise<LoadAccess> {
  const marketAddress = await resolveMarketAddress(url ?? readServiceUrl(env), iOwnThis === true)
  if (out !== undefined) requireWritable(out)
  // The token in the data folder of this machine is sent only to this machine.
  const token = readConfiguredToken(env) ?? (isThisMachine(marketAddress) ? readStoredToken(env) : undefined)
  return { marketAddress, token }
}

/** Checks before the load that the report can be written. */
function requireWritable(reportFile: string): void {
  try {
    closeSync(openSync(reportFile, 'a'))
  } catch (error) {
    throw new Failure(`${reportFile} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

type ShownLoad = Omit<LoadRunOptions, keyof LoadAccess | 'progress'>

/** Runs a load, and shows its progress. @throws Failure if it cannot start */
export async function runShownLoad(access: LoadAccess, { err }: Pick<LoadContext, 'err'>, load: ShownLoad): Promise<LoadOutcome> {
  const columns = process.stderr.isTTY ? process.stderr.columns : undefined
  const progress = openProgressLine({ write: err, ratePerSecond: load.settings.ratePerSecond, columns })
  return describeStartErrors(runLoad({ ...access, ...load, progress: progress.show }).finally(progress.end))
}

/** Replaces a RequestError by a Failure. */
export const describeStartErrors = <T>(start: Promise<T>): Promise<T> =>
  start.catch((error: unknown) => {
    throw error instanceof RequestError ? new Failure(`The load cannot start: ${error.message}.`) : error
  })

/** The first Ctrl-C ends the load early, and the run reports its measurements so far. The second ends the program. */
export async function runInterruptible<T>(err: (text: string) => void, run: (interrupt: AbortSignal) => Promise<T>): Promise<T> {
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
