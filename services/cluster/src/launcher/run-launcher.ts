import { settingsOf } from '@penstock/platforms/settings.ts'
import { onceSignalled } from '@penstock/platforms/stopping.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import type { Tell } from './child.ts'

export type Launched = { stop(): Promise<void> }

export type Launcher<T extends Launched> = {
  readonly env: NodeJS.ProcessEnv
  /** As in "The cluster cannot start". */
  readonly what: string
  /** What a person is told at the beginning and when it ends. */
  readonly begins: string
  readonly stops: string
  /** Once it is `over` before everything runs, it stops what it began. */
  readonly launch: (config: Config, tell: Tell, over: AbortSignal) => Promise<T>
  /** What a person sees once everything runs. */
  readonly banner: (launched: T) => string
}

const STOP_WITHIN_MS = 50_000

/** Runs until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export async function runLauncher<T extends Launched>(launcher: Launcher<T>): Promise<void> {
  const { env, what, begins, stops, launch, banner } = launcher
  const over = new AbortController()
  // Whoever read the output may be gone, or the terminal: the processes go on without being heard.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  try {
    const config = settingsOf(env)
    console.log(begins)
    const starting = launch(config, (line) => console.log(line), over.signal)
    onceSignalled(async () => {
      over.abort()
      console.log(stops)
      const begun = await starting.catch(() => undefined)
      await begun?.stop()
    }, STOP_WITHIN_MS)
    console.log(banner(await starting))
  } catch (error) {
    // Then the process ends when what was begun is stopped.
    if (over.signal.aborted) return
    const reason = error instanceof Error ? error.message : String(error)
    console.error(error instanceof ConfigError ? reason : `${what} cannot start: ${reason}`)
    process.exit(1)
  }
}
