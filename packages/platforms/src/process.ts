import { hostname } from 'node:os'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { type Bound, run } from '@penstock/runtime/run.ts'
import { type Cluster, cluster } from './cluster.ts'
import { type DataDir, openDataDir } from './data-dir.ts'
import { serveHealth } from './health.ts'
import { observe } from './observe.ts'
import type { Outside } from './outside.ts'
import { outsideOf } from './outside-lnd.ts'
import { settingsOf } from './settings.ts'
import { onceSignalled } from './stopping.ts'

/** What a service of its own process is put together from. */
export type Home = {
  readonly config: Config
  readonly dir: DataDir
  readonly platform: Cluster
  /** Node, chain, rates and keys: for those who ask. */
  readonly outside: () => Outside
  /** Undefined when the service has caught up, else what it waits for. */
  readonly readiness: () => Promise<string | undefined>
  /** The process takes work only once this has come true too. */
  readonly readyAfter: (opened: Promise<unknown>) => void
}

export type Assemble = (home: Home) => readonly Bound[] | Promise<readonly Bound[]>

/** Runs a service until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export async function runProcess(name: string, assemble: Assemble, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  try {
    const config = settingsOf(env)
    const running: { close?: () => Promise<void> } = {}
    // Who is told to stop while it starts has nothing in hand that the next start would not take up.
    onceSignalled(async () => running.close?.())
    running.close = await start(name, assemble, config)
  } catch (error) {
    if (error instanceof ConfigError) console.error(error.message)
    else console.error(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

async function start(name: string, assemble: Assemble, config: Config): Promise<() => Promise<void>> {
  const instance = `${name}/${config.instance || `${hostname()}-${process.pid}`}`
  const log = openLog(config.logLevel).child({ instance })
  let waitsFor: string | undefined = 'it is starting'
  let closedDoors = 0
  const readyAfter = (opened: Promise<unknown>): void => {
    closedDoors++
    void opened.then(() => closedDoors--)
  }
  const missing = (): string | undefined => waitsFor ?? (closedDoors > 0 ? 'it does not listen yet' : undefined)
  const about = { name, instance, pid: process.pid }
  // Before anything else: whoever looks after this process sees that it lives while it waits for its servers.
  const { seen, end } = await observe(config, { service: name, instance })
  const health = await serveHealth(
    { host: config.healthHost || config.host, port: config.healthPort, about, gauges: seen.gauges },
    missing,
  )
  const dir = openDataDir(config.dataDir)
  const asked = (reason: string): void => {
    if (waitsFor !== reason) log.warn({ reason }, 'a server is waited for')
    waitsFor = reason
  }
  const platform = { ...(await cluster(config, { service: name, instance, log, waitsFor: asked })), ...seen }
  let opened: Outside | undefined
  const outside = (): Outside => (opened ??= outsideOf(name, dir, config, systemClock))
  const readiness = () => Promise.resolve(waitsFor)
  const services = await assemble({ config, dir, platform, outside, readiness, readyAfter })
  await opened?.ready(asked)
  const running = await run(services, platform)
  waitsFor = undefined
  return async () => {
    waitsFor = 'it is stopping'
    await running.close()
    await opened?.close()
    await platform.close()
    await end()
    await health.close()
  }
}
