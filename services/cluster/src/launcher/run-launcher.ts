import { loadConfig } from '@penstock/config/load-config.ts'
import { closeOnSignal } from '@penstock/child-processes/shutdown.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import type { LogFormat } from '@penstock/runtime/observability/log.ts'
import type { PrintLine } from './process-supervisor.ts'
import { display } from './display.ts'

export type Launched = { stop(): Promise<void> }

export type LauncherSpec<T extends Launched> = {
  readonly env: NodeJS.ProcessEnv
  /** The format of log lines; undefined: the settings choose it. */
  readonly format: LogFormat | undefined
  /** The subject of "The cluster cannot start". */
  readonly what: string
  /** Printed at the start; `stops` is printed when a signal stops the launcher. */
  readonly begins: string
  readonly stops: string
  /** An abort of `stopping` before everything runs stops everything that was started. */
  readonly launch: (config: Config, printLine: PrintLine, stopping: AbortSignal) => Promise<T>
  /** The text that is printed once everything runs. */
  readonly banner: (launched: T) => string
}

/** Sellers, services, networks and servers stop one after the other, each within some 15 s. */
const STOP_TIMEOUT_MS = 90_000

/** Runs until SIGTERM or SIGINT; exits with 1 and a sentence if it cannot start. */
export async function runLauncher<T extends Launched>(launcher: LauncherSpec<T>): Promise<void> {
  const { env, format, what, begins, stops, launch, banner } = launcher
  const stopping = new AbortController()
  // If the terminal or the reader of the output is closed, the processes continue without output.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  try {
    const config = loadConfig(env)
    const { printLine, printText } = display(format ?? config.logFormat, process.stdout, (line) => console.log(line))
    printText(begins)
    const starting = launch(config, printLine, stopping.signal)
    closeOnSignal(async () => {
      stopping.abort()
      printText(stops)
      const launched = await starting.catch(() => undefined)
      await launched?.stop()
    }, STOP_TIMEOUT_MS)
    printText(banner(await starting))
  } catch (error) {
    // After a signal, the process ends when everything that was started has stopped.
    if (stopping.signal.aborted) return
    const reason = error instanceof Error ? error.message : String(error)
    console.error(error instanceof ConfigError ? reason : `${what} cannot start: ${reason}`)
    process.exit(1)
  }
}
