import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@penstock/runtime/config.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import type { Logins } from '@penstock/servers/kafka-settings.ts'
import { startPostgres } from '@penstock/servers/postgres.ts'
import type { Tell } from './child.ts'
import { keepUp, type Startable } from './keep-up.ts'

/** A server that is kept running. */
export type Server = { readonly name: string; readonly pid: number | undefined; readonly stop: () => Promise<void> }

/** Kafka with its data in the folder, for those who log in. @returns what services are told about it */
export async function kafkaServer(folder: string, logins: Logins, tell: Tell): Promise<{ server: Server; brokers: string }> {
  const kafka = await startKafka({ dir: join(folder, 'kafka'), logins })
  const [node] = kafka.nodes
  if (!node) throw new Error('Kafka has no node')
  const keeping = keepUp('kafka', node, tell)
  const stop = async (): Promise<void> => {
    await keeping.stop()
    await kafka.stop()
  }
  return { server: named('kafka', node, stop), brokers: kafka.brokers.join(',') }
}

/** PostgreSQL with its data in the folder, for so many connections. @returns the url of the market's database */
export async function postgresServer(folder: string, connections: number, tell: Tell): Promise<{ server: Server; url: string }> {
  const postgres = await startPostgres({ dir: postgresFolder(folder), settings: { max_connections: connections } })
  const url = await databaseOf(postgres)
  const keeping = keepUp('postgres', postgres, tell)
  const stop = async (): Promise<void> => {
    await keeping.stop()
    await postgres.stop()
  }
  return { server: named('postgres', postgres, stop), url }
}

const DATABASE = 'penstock'

async function databaseOf(postgres: Awaited<ReturnType<typeof startPostgres>>): Promise<string> {
  try {
    return await postgres.createDatabase(DATABASE)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === DUPLICATE_DATABASE) return postgres.url(DATABASE)
    throw error
  }
}
const DUPLICATE_DATABASE = '42P04'

/**
 * PostgreSQL refuses to run as root, and the user that it then runs as cannot enter a folder that only root may: then its
 * data are beside, in the system's temporary folder, under a name that is kept here.
 * @throws ConfigError where they were there and are gone: a new database in their place would hide that all facts are lost
 */
export function postgresFolder(folder: string): string {
  if (process.getuid?.() !== 0) return join(folder, 'postgres')
  const note = join(folder, 'postgres.id')
  const placeOf = (id: string): string => join(tmpdir(), `penstock-postgres-${id}`)
  if (!existsSync(note)) {
    const id = randomUUID()
    mkdirSync(placeOf(id))
    writeFileSync(`${note}.partial`, id)
    renameSync(`${note}.partial`, note)
  }
  const place = placeOf(readFileSync(note, 'utf8'))
  if (existsSync(place)) return place
  throw new ConfigError(
    `The database of this cluster was in ${place}, which is gone, and all facts with it. Put it back, or set PENSTOCK_DATA_DIR to another folder to begin anew.`,
  )
}

const named = (name: string, node: Startable, stop: () => Promise<void>): Server => ({
  name,
  get pid() {
    return node.pid
  },
  stop,
})
