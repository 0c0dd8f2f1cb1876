import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { clusterFolder, openDataDir, refuseOtherMarket } from '@penstock/platforms/data-dir.ts'
import { lndAccess } from '@penstock/platforms/lnd-access.ts'
import { lockDataDir } from '@penstock/platforms/lock.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { kafkaMissing } from '@penstock/servers/kafka-install.ts'
import { type Child, keepRunning, ready, startOnce, type Tell } from './child.ts'
import { migrateScript, plan, type Planned, REPLICATED } from './plan.ts'
import { accessOf, granterLogin, migrating, openSecrets, PREFIX } from './roles.ts'
import { portIsFree, reachedAt } from './port.ts'
import { kafkaServer, postgresServer, type Server } from './servers.ts'
import { serveStatus } from './status.ts'

export type LaunchOptions = {
  readonly replicas: number
  readonly demo: boolean
  /** Settings of every process beside those of this one. */
  readonly env?: Readonly<Record<string, string>>
}

/** One that runs, or is being started again. */
export type Running = {
  readonly name: string
  readonly pid: number | undefined
  /** Where a service answers operators; servers do not. */
  readonly healthUrl?: string
}

export type Cluster = {
  readonly url: string
  readonly addresses: Readonly<Record<string, string>>
  readonly brokers: string
  /** How whoever may do everything logs in to the brokers. */
  readonly brokersLogin: ReturnType<typeof granterLogin>
  readonly postgresUrl: string
  processes(): readonly Running[]
  /** Puts other code in the place of a service's processes: they end one by one when the new ones are ready beside them. */
  roll(name: string, scriptOf: (script: string) => string): Promise<void>
  stop(): Promise<void>
}

/**
 * A cluster on this machine: real Kafka and PostgreSQL, every service as its own processes, and the simulated network with
 * its people, or an lnd. It resolves when the gateway serves; what dies is started again. Once it is `over` before that, it
 * stops what it began.
 */
export async function launch(
  config: Config,
  { replicas, demo, env: own = {} }: LaunchOptions,
  tell: Tell,
  over: AbortSignal,
): Promise<Cluster> {
  const dir = openDataDir(config.dataDir)
  const isSimulated = config.lightning === 'simulated'
  refuseOtherMarket(dir, 'cluster', config)
  if (!isSimulated) mayUseLnd(config)
  const lock = lockDataDir(dir)
  const children: Child[] = []
  const servers: Server[] = []
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
    const door = { host: config.host, port: config.port || (await freePort()) }
    await portIsFree(door, over)
    const standing = { PORT: `${door.port}`, PENSTOCK_DATA_DIR: dir.path }
    const folder = clusterFolder(dir.path)
    const { env, addresses, secrets } = await startServers(folder, servers, connectionsOf(config, replicas), tell)
    await migrated({ ...own, ...env, ...standing, ...migrating(secrets) }, tell)
    const url = config.url || `http://${reachedAt(door.host)}:${door.port}`
    const [simnet, audit] = [await freePort(), await freePort()]
    const lightning = isSimulated ? `http://127.0.0.1:${simnet}` : `${config.lndSocket} (${config.network})`
    const told = {
      ...own,
      ...standing,
      ...ofServices(env, audit),
      ...(isSimulated && { PENSTOCK_SIMNET_URL: lightning }),
    }
    const ports = { simnet, audit, health: freePort }
    const asRole = (name: string) => accessOf(name, secrets)
    const planned = await plan({ asRole, replicas, demo, publicUrl: url, host: door.host, isSimulated, env: told, ports })
    // Servers take their time, and somebody may have come meanwhile.
    await portIsFree(door, over)
    await startAll(planned, children, tell, over)
    return {
      url,
      addresses: { ...addresses, [isSimulated ? 'simnet' : 'lnd']: lightning, audit: told.PENSTOCK_AUDIT_URL },
      brokers: env.PENSTOCK_KAFKA_BROKERS,
      brokersLogin: granterLogin(secrets),
      postgresUrl: env.PENSTOCK_POSTGRES_URL,
      processes: () => [...servers, ...children],
      roll: (name, scriptOf) => roll({ planned, children, tell, over }, name, scriptOf),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Sellers first, then the gateway and the services, at last what they all stand on. */
async function stopAll(children: readonly Child[], servers: readonly Server[]): Promise<void> {
  await Promise.all(children.filter(({ name }) => name === 'neighbours').map((child) => child.stop()))
  await Promise.all(children.filter(({ name }) => name !== 'simnet').map((child) => child.stop()))
  await Promise.all(children.map((child) => child.stop()))
  await Promise.all(servers.map((server) => server.stop()))
}

/** @throws ConfigError where the services could not start: each of them has rights of its own at the node */
function mayUseLnd(config: Config): void {
  if (config.lndMacaroonDir === '' || config.lndMacaroonFile !== '')
    throw new ConfigError(
      'In a cluster each service has a macaroon of its own: put them into one folder with "penstock lnd bake settlement channel-watcher reader", and name it in PENSTOCK_LND_MACAROON_DIR instead of one file in PENSTOCK_LND_MACAROON_FILE.',
    )
  for (const name of REPLICATED) lndAccess(name, config)
}

/** Of one process beside its two pools: it listens, and reads on its own. */
const BESIDE_POOLS = 4
/** Of migrations and of people who look. */
const SPARE = 20

/** As many as there can be once a service's new processes run beside its old ones. */
const connectionsOf = ({ postgresConnections: pool }: Config, replicas: number): number =>
  (REPLICATED.length * replicas + replicas + 1) * (2 * pool + BESIDE_POOLS) + SPARE

async function startServers(folder: string, servers: Server[], connections: number, tell: Tell) {
  const missing = await kafkaMissing()
  if (missing !== undefined) throw new ConfigError(missing)
  mkdirSync(folder, { recursive: true })
  const secrets = await openSecrets(folder)
  const starting = [kafkaServer(folder, secrets.logins, tell), postgresServer(folder, connections, tell)] as const
  const [kafka, postgres] = await Promise.allSettled(starting)
  for (const started of [kafka, postgres]) if (started.status === 'fulfilled') servers.push(started.value.server)
  if (kafka.status === 'rejected') throw kafka.reason
  if (postgres.status === 'rejected') throw postgres.reason
  const { brokers } = kafka.value
  const { url } = postgres.value
  return {
    // One broker keeps one copy.
    env: {
      ...NO_ACCESS,
      PENSTOCK_KAFKA_BROKERS: brokers,
      PENSTOCK_KAFKA_REPLICAS: '1',
      PENSTOCK_KAFKA_SASL: 'plain',
      PENSTOCK_KAFKA_USERS: PREFIX,
      PENSTOCK_POSTGRES_URL: url,
      PENSTOCK_POSTGRES_ROLES: PREFIX,
    },
    secrets,
    addresses: { kafka: brokers, postgres: url.replace(/:[^:@/]*@/, ':…@') },
  }
}

const ofServices = <Env extends { readonly PENSTOCK_POSTGRES_URL: string }>(env: Env, auditPort: number) => ({
  ...env,
  // The owner's password is for the migration alone.
  PENSTOCK_POSTGRES_URL: withoutPassword(env.PENSTOCK_POSTGRES_URL),
  PENSTOCK_AUDIT_URL: `http://127.0.0.1:${auditPort}`,
  PENSTOCK_SHARE_PORT: '1',
})

function withoutPassword(url: string): string {
  const bare = new URL(url)
  bare.password = ''
  return bare.href
}

/** What the environment says of the operator's own servers is not for these. */
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

async function migrated(env: Readonly<Record<string, string>>, tell: Tell): Promise<void> {
  const child = startOnce({ script: migrateScript, args: [], env }, (line) => tell(`migrate  ${line}`))
  const [code] = (await once(child, 'exit')) as [number | null] // as node types its event
  if (code !== 0) throw new Error('the tables could not be migrated; the lines above say why')
}

/** A network before those who use it; its sellers once there is a gateway to talk to. */
async function startAll(planned: readonly Planned[], children: Child[], tell: Tell, over: AbortSignal): Promise<void> {
  const start = (one: Planned): Child => {
    const child = keepRunning(one, tell)
    children.push(child)
    return child
  }
  const [networks, people] = ['simnet', 'neighbours'].map((wanted) => planned.filter(({ name }) => name === wanted))
  const services = planned.filter((one) => !networks?.includes(one) && !people?.includes(one))
  for (const some of [networks ?? [], services]) await Promise.all(some.map((one) => ready(start(one), over)))
  people?.forEach(start)
}

type Rolled = {
  readonly planned: readonly Planned[]
  readonly children: Child[]
  readonly tell: Tell
  readonly over: AbortSignal
}

async function roll(
  { planned, children, tell, over }: Rolled,
  name: string,
  scriptOf: (script: string) => string,
): Promise<void> {
  const olds = children.filter((child) => child.name === name)
  for (const was of planned.filter((one) => one.name === name)) {
    const own = {
      PENSTOCK_INSTANCE: `${was.env['PENSTOCK_INSTANCE']}-${Date.now()}`,
      PENSTOCK_HEALTH_PORT: `${await freePort()}`,
    }
    children.push(keepRunning({ ...was, script: scriptOf(was.script), env: { ...was.env, ...own } }, tell))
  }
  await Promise.all(children.filter((child) => child.name === name && !olds.includes(child)).map((child) => ready(child, over)))
  for (const old of olds) {
    await old.stop()
    children.splice(children.indexOf(old), 1)
  }
}
