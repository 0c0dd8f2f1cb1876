import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasKafkaController } from '@penstock/platforms/kafka-controller.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import type { KafkaLogins } from '@penstock/servers/kafka-settings.ts'
import { startPostgres } from '@penstock/servers/postgres.ts'
import type { PrintLine } from './process-supervisor.ts'
import { HEALTH_LIMITS, type HealthLimits } from './health.ts'
import { type SupervisedServer, superviseServer, type Startable } from './server-supervisor.ts'
import { kafkaAdminLogin } from './roles.ts'

/** A server that is restarted when it ends or hangs. */
export type ClusterServer = SupervisedServer & {
  readonly name: string
  readonly pid: number | undefined
  /** Whether the server answers now. */
  readonly answers: () => Promise<boolean>
}

/** Starts Kafka with its data in the folder and these logins. @returns the server and the addresses of its brokers */
export async function startKafkaServer(
  folder: string,
  logins: KafkaLogins,
  printLine: PrintLine,
  signal: AbortSignal,
  limits = HEALTH_LIMITS,
): Promise<{ server: ClusterServer; brokers: string }> {
  const kafka = await startKafka({ dir: join(folder, 'kafka'), logins, signal })
  const [node] = kafka.nodes
  if (!node) throw new Error('Kafka has no node')
  const { brokers } = kafka
  const broker: Startable = {
    get pid() {
      return node.pid
    },
    start: (ended) => node.start(ended),
    answers: () => hasKafkaController(brokers, kafkaAdminLogin({ logins })),
    kill: () => node.kill(),
    stop: () => node.shutDown(),
  }
  return { server: superviseNamedServer('kafka', broker, printLine, limits), brokers: brokers.join(',') }
}

/** Starts PostgreSQL with its data in the folder. @returns the server and the URL of the market's database */
export async function startPostgresServer(
  folder: string,
  connections: number,
  printLine: PrintLine,
  signal: AbortSignal,
): Promise<{ server: ClusterServer; url: string }> {
  const postgres = await startPostgres({ dir: openPostgresFolder(folder), settings: { max_connections: connections }, signal })
  const url = await openMarketDatabase(postgres)
  return { server: superviseNamedServer('postgres', postgres, printLine, HEALTH_LIMITS), url }
}

const DATABASE = 'penstock'

async function openMarketDatabase(postgres: Awaited<ReturnType<typeof startPostgres>>): Promise<string> {
  try {
    return await postgres.createDatabase(DATABASE)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === DUPLICATE_DATABASE) return postgres.url(DATABASE)
    throw error
  }
}
const DUPLICATE_DATABASE = '42P04'

/**
 * Chooses the folder of PostgreSQL's data. PostgreSQL does not run as root, and its own user cannot enter a folder of root.
 * So for root, the data are in the system's temporary folder, and `folder` contains a file with the id in that folder's name.
 * @throws ConfigError if that folder is missing, because a new database would hide that all facts are lost
 */
export function openPostgresFolder(folder: string): string {
  if (process.getuid?.() !== 0) return join(folder, 'postgres')
  const idFile = join(folder, 'postgres.id')
  const folderWithId = (id: string): string => join(tmpdir(), `penstock-postgres-${id}`)
  if (!existsSync(idFile)) {
    const id = randomUUID()
    mkdirSync(folderWithId(id))
    writeFileSync(`${idFile}.partial`, id)
    renameSync(`${idFile}.partial`, idFile)
  }
  const dataFolder = folderWithId(readFileSync(idFile, 'utf8'))
  if (existsSync(dataFolder)) return dataFolder
  throw new ConfigError(
    `The database of this cluster was in ${dataFolder}, which is gone, and all facts with it. Put it back, or set PENSTOCK_DATA_DIR to another folder to begin anew.`,
  )
}

function superviseNamedServer(name: string, node: Startable, printLine: PrintLine, limits: HealthLimits): ClusterServer {
  const supervised = superviseServer(name, node, printLine, limits)
  return {
    name,
    get pid() {
      return node.pid
    },
    get state() {
      return supervised.state
    },
    answers: () => node.answers(),
    stop: () => supervised.stop(),
  }
}
