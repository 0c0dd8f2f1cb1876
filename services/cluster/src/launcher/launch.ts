import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import { lockDataDir } from '@penstock/platforms/lock.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { type Child, keepRunning, startOnce, type Tell } from './child.ts'
import { migrateScript, plan, type Planned } from './plan.ts'
import { kafkaServer, postgresServer, type Server } from './servers.ts'
import { serveStatus } from './status.ts'

export type LaunchOptions = { readonly replicas: number; readonly demo: boolean }

export type Cluster = { readonly url: string; readonly addresses: Readonly<Record<string, string>>; stop(): Promise<void> }

const READY_WITHIN_MS = 300_000
const LOOK_EVERY_MS = 200

/**
 * A cluster on this machine: real Kafka and PostgreSQL, every service as its own processes, the simulated network and its
 * people. It resolves when the gateway serves; what dies is started again.
 */
export async function launch(config: Config, { replicas, demo }: LaunchOptions, tell: Tell): Promise<Cluster> {
  const dir = openDataDir(config.dataDir)
  const lock = lockDataDir(dir)
  const children: Child[] = []
  const servers: Server[] = []
  const status = await serveStatus(
    dir.path,
    () => children,
    () => servers,
  )
  const stop = async (): Promise<void> => {
    // Sellers first, the gateway next, then the services, at last what they all stand on.
    for (const child of [...children].reverse().slice(0, 1)) await child.stop()
    await Promise.all(children.filter(({ name }) => name !== 'simnet').map((child) => child.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await Promise.all(servers.map((server) => server.stop()))
    await status.close()
    lock.release()
  }
  try {
    const { env, addresses } = await startServers(join(dir.path, 'cluster'), servers, tell)
    await migrated({ ...env, ...standing(config, dir.path) }, tell)
    const url = config.url || `http://127.0.0.1:${config.port}`
    const [simnet, audit] = [await freePort(), await freePort()]
    const told = {
      ...standing(config, dir.path),
      ...env,
      PENSTOCK_SIMNET_URL: `http://127.0.0.1:${simnet}`,
      PENSTOCK_AUDIT_URL: `http://127.0.0.1:${audit}`,
      PENSTOCK_SHARE_PORT: '1',
    }
    const planned = await plan({ replicas, demo, publicUrl: url, env: told, ports: { simnet, audit, health: freePort } })
    await startAll(planned, children, tell)
    return { url, addresses: { ...addresses, simnet: told.PENSTOCK_SIMNET_URL, audit: told.PENSTOCK_AUDIT_URL }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const standing = ({ port }: Config, dataDir: string) => ({ PORT: `${port}`, PENSTOCK_DATA_DIR: dataDir })

async function startServers(folder: string, servers: Server[], tell: Tell) {
  mkdirSync(folder, { recursive: true })
  const [kafka, postgres] = await Promise.allSettled([kafkaServer(folder, tell), postgresServer(folder, tell)])
  for (const started of [kafka, postgres]) if (started.status === 'fulfilled') servers.push(started.value.server)
  if (kafka.status === 'rejected') throw kafka.reason
  if (postgres.status === 'rejected') throw postgres.reason
  const { brokers } = kafka.value
  const { url } = postgres.value
  return {
    // One broker keeps one copy.
    env: { PENSTOCK_KAFKA_BROKERS: brokers, PENSTOCK_KAFKA_REPLICAS: '1', PENSTOCK_POSTGRES_URL: url },
    addresses: { kafka: brokers, postgres: url.replace(/:[^:@/]*@/, ':…@') },
  }
}

async function migrated(env: Readonly<Record<string, string>>, tell: Tell): Promise<void> {
  const child = startOnce({ script: migrateScript, args: [], env }, (line) => tell(`migrate  ${line}`))
  const [code] = (await once(child, 'exit')) as [number | null] // as node types its event
  if (code !== 0) throw new Error('the tables could not be migrated; the lines above say why')
}

/** The network before those who use it; the sellers once there is a gateway to talk to. */
async function startAll(planned: readonly Planned[], children: Child[], tell: Tell): Promise<void> {
  const start = (one: Planned): Child => {
    const child = keepRunning(one, tell)
    children.push(child)
    return child
  }
  const [simnet, ...others] = planned
  if (!simnet) return
  await ready(start(simnet))
  await Promise.all(others.filter(({ name }) => name !== 'neighbours').map((one) => ready(start(one))))
  for (const one of others.filter(({ name }) => name === 'neighbours')) start(one)
}

async function ready(child: Child): Promise<void> {
  for (const end = Date.now() + READY_WITHIN_MS; Date.now() < end;) {
    const answer = await fetch(`${child.healthUrl}/readyz`).catch(() => undefined)
    if (answer?.ok === true) return
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error(`${child.name}/${child.replica} is not ready after ${READY_WITHIN_MS / 1000} s; its log says why`)
}
