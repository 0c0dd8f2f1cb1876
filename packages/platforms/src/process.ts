import { hostname } from 'node:os'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { bindManifest, type StreamServiceManifest } from '@penstock/runtime/manifest.ts'
import { type BoundService, run } from '@penstock/runtime/run.ts'
import { type ClusterPlatform, openClusterPlatform } from './cluster.ts'
import { type DataDir, openDataDir } from '@penstock/config/data-dir.ts'
import { serveHealth } from '@penstock/runtime/observability/health-server.ts'
import { startObservability } from './observe.ts'
import { createOwnPortOpeners, type OwnPortOpeners } from './own-ports.ts'
import { createWebhookGuard } from './webhook-guard.ts'
import type { ExternalWorld } from './external-world.ts'
import { chooseExternalWorld } from './choose-external-world.ts'
import type { LndClient } from './lnd-access.ts'
import { loadConfig } from '@penstock/config/load-config.ts'
import { saveCompileCache } from '@penstock/runtime/compile-cache.ts'
import { closeOnSignal } from '@penstock/child-processes/shutdown.ts'

/** The parts from which a service in its own process is assembled. */
export type ServiceProcessContext = {
  readonly config: Config
  readonly dir: DataDir
  readonly platform: ClusterPlatform
  /** Node, chain, rates and keys. The first call opens them. */
  readonly externalWorld: () => ExternalWorld
  readonly ownPorts: OwnPortOpeners
  readonly webhookGuard: HostGuard
  /** Undefined once all services of the process run, else the reason why the process still waits. */
  readonly findMissing: () => Promise<string | undefined>
  /** The process reports ready only once this promise has resolved. */
  readonly delayReadiness: (opened: Promise<unknown>) => void
}

export type Assemble = (context: ServiceProcessContext) => readonly BoundService[] | Promise<readonly BoundService[]>

/** Runs a service that owns streams as a process. */
export const runService = (manifest: StreamServiceManifest): Promise<void> =>
  runProcess(manifest, ({ externalWorld, ownPorts }) => [bindManifest(manifest, { externalWorld, ...ownPorts })])

/** Runs a service until SIGTERM or SIGINT. If the service cannot start, the process prints the reason and exits with 1. */
export async function runProcess(client: LndClient, assemble: Assemble, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  try {
    const config = loadConfig(env)
    const running: { close?: () => Promise<void> } = {}
    // A signal during the start needs no close: the next start resumes all unfinished work.
    closeOnSignal(async () => running.close?.())
    running.close = await startProcess(client, assemble, config)
    saveCompileCache()
  } catch (error) {
    if (error instanceof ConfigError) console.error(error.message)
    else console.error(`${client.name} cannot start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

async function startProcess(client: LndClient, assemble: Assemble, config: Config): Promise<() => Promise<void>> {
  const { name } = client
  const instance = `${name}/${config.instance || `${hostname()}-${process.pid}`}`
  const log = openLogger(config.logLevel, config.logFormat).child({ instance })
  let waitsFor: string | undefined = 'it is starting'
  let pendingOpenings = 0
  const delayReadiness = (opened: Promise<unknown>): void => {
    pendingOpenings++
    void opened.then(() => pendingOpenings--)
  }
  const missing = (): string | undefined => waitsFor ?? (pendingOpenings > 0 ? 'it does not listen yet' : undefined)
  const about = { name, instance, pid: process.pid }
  // The health server starts first, so that a supervisor sees the process while the process waits for its servers.
  const { observability, end } = await startObservability(config, { service: name, instance }, log)
  const health = await serveHealth(
    { host: config.healthHost || config.host, port: config.healthPort, about, gauges: observability.gauges },
    missing,
  )
  const dir = openDataDir(config.dataDir)
  const onWaiting = (reason: string): void => {
    if (waitsFor !== reason) log.warn({ reason }, 'waiting for a server')
    waitsFor = reason
  }
  const platform = { ...(await openClusterPlatform(config, { service: name, instance, log, onWaiting })), ...observability }
  const openExternalWorld = await chooseExternalWorld(config)
  let opened: ExternalWorld | undefined
  const externalWorld = (): ExternalWorld => (opened ??= openExternalWorld(client, dir, systemClock))
  const findMissing = () => Promise.resolve(waitsFor)
  const ownPorts = createOwnPortOpeners(platform, dir)
  const webhookGuard = createWebhookGuard(systemClock)
  const services = await assemble({
    config,
    dir,
    platform,
    externalWorld,
    ownPorts,
    webhookGuard,
    findMissing,
    delayReadiness,
  })
  await opened?.waitUntilReady(onWaiting)
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
