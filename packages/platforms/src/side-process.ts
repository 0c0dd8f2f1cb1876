import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { type DataDir, openDataDir } from '@penstock/config/data-dir.ts'
import { type HealthServer, serveHealth } from '@penstock/runtime/observability/health-server.ts'
import { startObservability } from './observe.ts'
import type { ExternalWorld } from './external-world.ts'
import { chooseExternalWorld } from './choose-external-world.ts'
import type { LndClient } from './lnd-access.ts'
import { loadConfig } from '@penstock/config/load-config.ts'
import { closeOnSignal } from '@penstock/child-processes/shutdown.ts'

/** The context of a seller's agent or a demonstration: a process that uses only the public interface of a market. */
export type SideProcessContext = {
  readonly config: Config
  readonly dir: DataDir
  readonly externalWorld: ExternalWorld
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Runs `main` until SIGTERM or SIGINT. If it cannot start, fails or returns earlier, the process prints why and exits with 1.
 */
export async function runSideProcess(
  client: LndClient,
  main: (context: SideProcessContext) => Promise<void>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { name } = client
  const stop = new AbortController()
  try {
    const config = loadConfig(env)
    const log = openLogger(config.logLevel, config.logFormat).child({ instance: `${name}-${process.pid}` })
    let missing: string | undefined = 'it is starting'
    const health = env['PENSTOCK_HEALTH_PORT'] === undefined ? undefined : await startHealth(name, config, log, () => missing)
    const dir = openDataDir(config.dataDir)
    const openExternalWorld = await chooseExternalWorld(config)
    const externalWorld = openExternalWorld(client, dir, systemClock)
    await externalWorld.waitUntilReady((reason) => {
      if (missing !== reason) log.warn({ reason }, 'waiting for a server')
      missing = reason
    })
    missing = undefined
    const running = main({ config, dir, externalWorld, clock: systemClock, ids: systemIds(), log, signal: stop.signal })
    closeOnSignal(async () => {
      stop.abort()
      await running
      await externalWorld.close()
      await health?.close()
    })
    await running
    if (!stop.signal.aborted) throw new Error('it ended without a signal')
  } catch (error) {
    // After a stop signal, `closeOnSignal` reports the error itself.
    if (stop.signal.aborted) return
    if (error instanceof ConfigError) console.error(error.message)
    else console.error(`${name} cannot continue: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

async function startHealth(
  name: string,
  config: Config,
  log: Logger,
  findMissing: () => string | undefined,
): Promise<HealthServer> {
  const { observability } = await startObservability(config, { service: name, instance: name }, log)
  const about = { name, instance: name, pid: process.pid }
  return serveHealth(
    { host: config.healthHost || config.host, port: config.healthPort, about, gauges: observability.gauges },
    findMissing,
  )
}
