import { closeSync, openSync, writeFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { type Env, givenToken, serviceUrl, storedToken } from '../operator.ts'
import { print, type Shell } from '../shell.ts'
import { isThisMachine, targetOf } from './address.ts'
import { failuresOf, outcomeJson, outcomeText } from './outcome.ts'
import { openProgress } from './progress.ts'
import { reportPage } from './report.ts'
import { runLoad } from './run.ts'
import type { Settings } from './settings.ts'
import { Trouble } from './trouble.ts'

export type Surroundings = Shell & { readonly env: Env; readonly err: (text: string) => void }

type Asked = {
  readonly settings: Settings
  readonly url?: string
  readonly out?: string
  readonly iOwnThis?: boolean
  readonly json?: boolean
}

/** A whole `penstock load`. @throws Failure where it cannot begin, where a check fails, or for too many errors */
export async function perform(asked: Asked, { env, out, err, ...shell }: Surroundings): Promise<void> {
  const { settings, url = serviceUrl(env), out: file } = asked
  const target = await targetOf(url, asked.iOwnThis === true)
  if (file !== undefined) mustBeWritable(file)
  // The token of this machine's folder is for this machine.
  const token = givenToken(env) ?? (isThisMachine(target) ? storedToken(env) : undefined)
  const columns = process.stderr.isTTY ? process.stderr.columns : undefined
  const progress = openProgress({ write: err, ratePerSecond: settings.ratePerSecond, columns })
  const outcome = await untilInterrupted(err, (interrupt) =>
    runLoad({ target, token, settings, interrupt, progress: progress.show })
      .finally(progress.end)
      .catch((error: unknown) => {
        throw error instanceof Trouble ? new Failure(`The load cannot begin: ${error.message}.`) : error
      }),
  )
  if (file !== undefined) writeFileSync(file, reportPage(outcome))
  print({ out, ...shell }, asked, outcomeJson(outcome), () => outcomeText(outcome))
  const failures = failuresOf(outcome)
  if (failures.length > 0) throw new Failure(failures.join('\n'))
}

/** Found out before the load, not after it. */
function mustBeWritable(file: string): void {
  try {
    closeSync(openSync(file, 'a'))
  } catch (error) {
    throw new Failure(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The first Ctrl-C ends the load early, and what was measured is reported; the second ends the program. */
async function untilInterrupted<T>(err: (text: string) => void, work: (interrupt: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const end = (): void => {
    err('\nNo more orders; what was measured is reported within half a minute. Once more ends the program.\n')
    interrupt.abort()
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, end)
  try {
    return await work(interrupt.signal)
  } finally {
    for (const signal of signals) process.off(signal, end)
  }
}
