import { mkdirSync } from 'node:fs'
import { clusterFolder, openDataDir, assertSameMarket } from '@penstock/config/data-dir.ts'
import { services } from '@penstock/standalone/registry.ts'
import { createVault } from '@penstock/platforms/vault.ts'
import { resolveLndAccess } from '@penstock/platforms/lnd-access.ts'
import { lockDataDir } from '@penstock/config/data-dir-lock.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { needsExternalWorld } from '@penstock/runtime/manifest.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { stopProcess } from '@penstock/child-processes/stop.ts'
import {
  type SupervisedProcess,
  superviseProcess,
  waitUntilProcessReady,
  startOnce,
  type PrintLine,
} from './process-supervisor.ts'
import { migrateScript, planProcesses, type PlannedProcess } from './plan.ts'
import { accessEnv, kafkaAdminLogin, migrationEnv, openSecrets, SERVICE_ROLE_PREFIX } from './roles.ts'
import { toReachableHost } from '@penstock/config/reachable-host.ts'
import { waitForFreePort } from './wait-for-free-port.ts'
import { startKafkaServer, startPostgresServer, type ClusterServer } from './servers.ts'
import { serveStatus } from './status.ts'
import { waitForAll } from './wait-for-all.ts'

export type LaunchOptions = {
  readonly replicas: number
  /** The services whose number of processes differs from `replicas`. */
  readonly replicasByService?: Readonly<Record<string, number>>
  readonly demo: boolean
  /** Settings that every process gets in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** A process or server that runs or is being restarted. */
export type RunningProcess = {
  readonly name: string
  readonly pid: number | undefined
  /** The address at which a service answers operators; servers have none. */
  readonly healthUrl?: string
  /** Whether a server answers its clients. */
  readonly answers?: () => Promise<boolean>
}

export type LaunchedCluster = {
  readonly url: string
  readonly addresses: Readonly<Record<string, string>>
  readonly brokers: string
  /** The login of the brokers' administrator. */
  readonly brokersLogin: ReturnType<typeof kafkaAdminLogin>
  readonly postgresUrl: string
  processes(): readonly RunningProcess[]
  /** Replaces a service's processes by processes of other code. When all new processes are ready, the old ones end one by one. */
  roll(name: string, scriptOf: (script: string) => string): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a cluster on this machine: Kafka, PostgreSQL, the processes of every service, and the simulated network with its
 * sellers if the configuration names no lnd. Resolves when the gateway is ready. A process that ends is restarted. If
 * `abortSignal` aborts before that, every started process is stopped.
 */
export async function launchCluster(
  config: Config,
  options: LaunchOptions,
  printLine: PrintLine,
  abortSignal: AbortSignal,
): Promise<LaunchedCluster> {
  const dir = openDataDir(config.dataDir)
  createVault(dir.path)
  const isSimulated = config.lightning === 'simulated'
  assertSameMarket(dir, 'cluster', config)
  if (!isSimulated) assertLndAccess(config)
  const lock = lockDataDir(dir)
  const children: SupervisedProcess[] = []
  const servers: ClusterServer[] = []
  const status = await serveStatus(dir.path, { children, servers }).catch((error: unknown) => {
    lock.release()
    throw error
  })
  const stop = async (): Promise<void> => {
    await stopAll(children, servers)
    await status.close()
    lock.release()
  }
  try {
    const listenAddress = { host: config.host, port: config.port || (await findFreePort()) }
    await waitForFreePort(listenAddress, abortSignal)
    const baseEnv = { PORT: `${listenAddress.port}`, PENSTOCK_DATA_DIR: dir.path }
    const folder = clusterFolder(dir.path)
    const connections = countConnections(config, options)
    const { env, addresses, secrets } = await startServers(folder, servers, connections, printLine, abortSignal)
    const migrate = runMigration({ ...options.env, ...env, ...baseEnv, ...migrationEnv(secrets) }, printLine, abortSignal)
    await waitForAll({ migrate }, printLine)
    const url = `http://${toReachableHost(listenAddress.host)}:${listenAddress.port}`
    const [simnet, audit] = [await findFreePort(), await findFreePort()]
    const lightning = isSimulated ? `http://127.0.0.1:${simnet}` : `${config.lndSocket} (${config.network})`
    const networkEnv = isSimulated && { PENSTOCK_SIMNET_URL: lightning }
    const processEnv = { ...options.env, ...baseEnv, ...serviceEnv(env, audit), ...networkEnv }
    const ports = { simnet, audit, health: findFreePort }
    const asRole = (name: string) => accessEnv(name, secrets)
    const { host } = listenAddress
    const planned = await planProcesses({ ...options, asRole, url, host, isSimulated, env: processEnv, ports })
    // Another program may have taken the port during the slow start of the servers.
    await waitForFreePort(listenAddress, abortSignal)
    await startAll(planned, children, printLine, abortSignal)
    return {
      url,
      addresses: { ...addresses, [isSimulated ? 'simnet' : 'lnd']: lightning, audit: processEnv.PENSTOCK_AUDIT_URL },
      brokers: env.PENSTOCK_KAFKA_BROKERS,
      brokersLogin: kafkaAdminLogin(secrets),
      postgresUrl: env.PENSTOCK_POSTGRES_URL,
      processes: () => [...servers, ...children],
      roll: (name, scriptOf) => rollService({ planned, children, printLine, abortSignal }, name, scriptOf),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Stops the sellers first, then the gateway and the services, and last the simulated network and the servers. */
async function stopAll(children: readonly SupervisedProcess[], servers: readonly ClusterServer[]): Promise<void> {
  await Promise.all(children.filter(({ name }) => name === 'neighbours').map((child) => child.stop()))
  await Promise.all(children.filter(({ name }) => name !== 'simnet').map((child) => child.stop()))
  await Promise.all(children.map((child) => child.stop()))
  await Promise.all(servers.map((server) => server.stop()))
}

/** @throws ConfigError if a service has no macaroon of its own, because each service has its own rights at the node */
function assertLndAccess(config: Config): void {
  if (config.lndMacaroonDir === '' || config.lndMacaroonFile !== '')
    throw new ConfigError(
      'In a cluster each service has a macaroon of its own: put them into one folder with "./penstock lnd bake settlement channel-watcher reader", and set PENSTOCK_LND_MACAROON_DIR to this folder instead of PENSTOCK_LND_MACAROON_FILE to one file.',
    )
  for (const manifest of services) if (needsExternalWorld(manifest)) resolveLndAccess(manifest, config)
}

/** Connections of one process outside its two pools, for notifications (LISTEN) and for its own reads. */
const OWN_CONNECTIONS = 4
/** Connections for migrations, and for operators who query the database. */
const SPARE_CONNECTIONS = 20

/** The maximum number of open connections. `roll` reaches it, because a service's new and old processes then run together. */
const countConnections = (
  { postgresConnections: pool }: Config,
  { replicas: most, replicasByService = {} }: LaunchOptions,
): number => {
  const replicas = Math.max(most, ...Object.values(replicasByService))
  return (services.length * replicas + replicas + 1) * (2 * pool + OWN_CONNECTIONS) + SPARE_CONNECTIONS
}

async function startServers(
  folder: string,
  servers: ClusterServer[],
  connections: number,
  printLine: PrintLine,
  abortSignal: AbortSignal,
) {
  const missing = await explainMissingKafka()
  if (missing !== undefined) throw new ConfigError(missing)
  mkdirSync(folder, { recursive: true })
  const secrets = await openSecrets(folder)
  const starting = {
    kafka: startKafkaServer(folder, secrets.logins, printLine, abortSignal),
    postgres: startPostgresServer(folder, connections, printLine, abortSignal),
  }
  // The launcher waits until both have settled, so that it can stop the started server if the other failed.
  const settled = Promise.allSettled([starting.kafka, starting.postgres])
  await waitForAll(starting, printLine).catch(() => undefined)
  const [kafka, postgres] = await settled
  for (const started of [kafka, postgres]) if (started.status === 'fulfilled') servers.push(started.value.server)
  if (kafka.status === 'rejected') throw kafka.reason
  if (postgres.status === 'rejected') throw postgres.reason
  const { brokers } = kafka.value
  const { url } = postgres.value
  return {
    // The cluster has one broker, so each partition has one replica.
    env: {
      ...NO_ACCESS,
      PENSTOCK_KAFKA_BROKERS: brokers,
      PENSTOCK_KAFKA_REPLICAS: '1',
      PENSTOCK_KAFKA_SASL: 'plain',
      PENSTOCK_KAFKA_USERS: SERVICE_ROLE_PREFIX,
      PENSTOCK_POSTGRES_URL: url,
      PENSTOCK_POSTGRES_ROLES: SERVICE_ROLE_PREFIX,
    },
    secrets,
    addresses: { kafka: brokers, postgres: url.replace(/:[^:@/]*@/, ':…@') },
  }
}

const serviceEnv = <Env extends { readonly PENSTOCK_POSTGRES_URL: string }>(env: Env, auditPort: number) => ({
  ...env,
  // Only the migration uses the database owner's password.
  PENSTOCK_POSTGRES_URL: withoutPassword(env.PENSTOCK_POSTGRES_URL),
  PENSTOCK_AUDIT_URL: `http://127.0.0.1:${auditPort}`,
  PENSTOCK_SHARE_PORT: '1',
})

function withoutPassword(url: string): string {
  const bare = new URL(url)
  bare.password = ''
  return bare.href
}

/** Clears the settings for servers of the operator, because the launcher starts its own servers. */
const NO_ACCESS = {
  PENSTOCK_POSTGRES_PASSWORD_FILE: '',
  PENSTOCK_POSTGRES_ROLE_PASSWORDS: '',
  PENSTOCK_KAFKA_TLS: '0',
  PENSTOCK_KAFKA_CA_FILE: '',
  PENSTOCK_KAFKA_CERT_FILE: '',
  PENSTOCK_KAFKA_KEY_FILE: '',
  PENSTOCK_KAFKA_SASL: 'none',
  PENSTOCK_KAFKA_USER: '',
  PENSTOCK_KAFKA_PASSWORD_FILE: '',
  PENSTOCK_KAFKA_TOKEN_FILE: '',
  PENSTOCK_KAFKA_TOKEN_URL: '',
}

/** A migration step over all facts of a large store may take many minutes. */
const MIGRATION_TIMEOUT_MS = 1_800_000

async function runMigration(
  env: Readonly<Record<string, string>>,
  printLine: PrintLine,
  abortSignal: AbortSignal,
): Promise<void> {
  const child = startOnce({ script: migrateScript, args: [], env }, (line) => printLine('migrate', line))
  const stopChild = (): void => void stopProcess(child, 'SIGTERM')
  const timeout = AbortSignal.timeout(MIGRATION_TIMEOUT_MS)
  for (const signal of [abortSignal, timeout]) signal.addEventListener('abort', stopChild, { once: true })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  for (const signal of [abortSignal, timeout]) signal.removeEventListener('abort', stopChild)
  if (timeout.aborted) throw new Error(`the tables were not migrated within ${MIGRATION_TIMEOUT_MS / 60_000} minutes`)
  if (code !== 0) throw new Error('the tables could not be migrated; the lines above say why')
}

/** Starts the simulated network before the services that use it, and its sellers once the gateway is ready. */
async function startAll(
  planned: readonly PlannedProcess[],
  children: SupervisedProcess[],
  printLine: PrintLine,
  abortSignal: AbortSignal,
): Promise<void> {
  const start = (one: PlannedProcess): SupervisedProcess => {
    const child = superviseProcess(one, printLine)
    children.push(child)
    return child
  }
  const [networks, sellers] = ['simnet', 'neighbours'].map((wanted) => planned.filter(({ name }) => name === wanted))
  const services = planned.filter((one) => !networks?.includes(one) && !sellers?.includes(one))
  for (const some of [networks ?? [], services]) {
    const waits = some.map((one) => [`${one.name}/${one.replica}`, waitUntilProcessReady(start(one), abortSignal)] as const)
    if (waits.length > 0) await waitForAll(Object.fromEntries(waits), printLine)
  }
  sellers?.forEach(start)
}

type RollContext = {
  readonly planned: readonly PlannedProcess[]
  readonly children: SupervisedProcess[]
  readonly printLine: PrintLine
  readonly abortSignal: AbortSignal
}

async function rollService(
  { planned, children, printLine, abortSignal }: RollContext,
  name: string,
  scriptOf: (script: string) => string,
): Promise<void> {
  const oldChildren = children.filter((child) => child.name === name)
  for (const previous of planned.filter((one) => one.name === name)) {
    const own = {
      PENSTOCK_INSTANCE: `${previous.env['PENSTOCK_INSTANCE']}-${Date.now()}`,
      PENSTOCK_HEALTH_PORT: `${await findFreePort()}`,
    }
    children.push(
      superviseProcess({ ...previous, script: scriptOf(previous.script), env: { ...previous.env, ...own } }, printLine),
    )
  }
  await Promise.all(
    children
      .filter((child) => child.name === name && !oldChildren.includes(child))
      .map((child) => waitUntilProcessReady(child, abortSignal)),
  )
  for (const old of oldChildren) {
    await old.stop()
    children.splice(children.indexOf(old), 1)
  }
}
