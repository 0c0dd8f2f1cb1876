import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { type Log, openLog } from '@penstock/runtime/log.ts'
import { type DataDir, openDataDir } from './data-dir.ts'
import { type HealthServer, serveHealth } from './health.ts'
import { observe } from './observe.ts'
import type { Outside } from './outside.ts'
import { outsideOf } from './outside-lnd.ts'
import { settingsOf } from './settings.ts'
import { onceSignalled } from './stopping.ts'

/** What those have who live beside a market and use its public interface only: sellers' agents, demonstrations. */
export type Place = {
  readonly config: Config
  readonly dir: DataDir
  readonly outside: Outside
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Lives beside a market until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot, or ends by itself.
 * @param name decides what its macaroon may allow
 */
export async function runNeighbour(
  name: string,
  live: (place: Place) => Promise<void>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const stop = new AbortController()
  try {
    const config = settingsOf(env)
    const log = openLog(config.logLevel).child({ instance: `${name}-${process.pid}` })
    let waitsFor: string | undefined = 'it is starting'
    const health = env['PENSTOCK_HEALTH_PORT'] === undefined ? undefined : await ownHealth(name, config, () => waitsFor)
    const dir = openDataDir(config.dataDir)
    const outside = outsideOf(name, dir, config, systemClock)
    await outside.ready((reason) => {
      if (waitsFor !== reason) log.warn({ reason }, 'a server is waited for')
      waitsFor = reason
    })
    waitsFor = undefined
    const living = live({ config, dir, outside, clock: systemClock, ids: systemIds(), log, signal: stop.signal })
    onceSignalled(async () => {
      stop.abort()
      await living
      await outside.close()
      await health?.close()
    })
    await living
    if (!stop.signal.aborted) throw new Error('it ended by itself')
  } catch (error) {
    // Whoever was told to stop reports that by itself.
    if (stop.signal.aborted) return
    if (error instanceof ConfigError) console.error(error.message)
    else console.error(`${name} cannot go on: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

async function ownHealth(name: string, config: Config, ready: () => string | undefined): Promise<HealthServer> {
  const { seen } = await observe(config, { service: name, instance: name })
  const about = { name, instance: name, pid: process.pid }
  return serveHealth({ host: config.healthHost || config.host, port: config.healthPort, about, gauges: seen.gauges }, ready)
}
