import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { parkedKeys } from '@penstock/adapters/kafka/parked-tables.ts'
import { type BusPart, grantTopics } from '@penstock/adapters/kafka/rights.ts'
import { kafkaOptions } from '@penstock/adapters/kafka/settings.ts'
import { postgresBeside } from '@penstock/adapters/postgres/beside.ts'
import { migrateEventLogs } from '@penstock/adapters/postgres/event-schema.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import type { PostgresSettings } from '@penstock/adapters/postgres/pool.ts'
import { grantRoles, type Part as DatabasePart, roleOf } from '@penstock/adapters/postgres/roles.ts'
import { serverTime } from '@penstock/adapters/postgres/server-time.ts'
import { postgresTableFaults } from '@penstock/adapters/postgres/table-faults.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { TableFault } from '@penstock/adapters/shared/table-fault.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { OpenBeside } from '@penstock/ports/beside.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import { throughFaults } from '@penstock/runtime/backoff.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { type Log, openLog } from '@penstock/runtime/log.ts'
import { owners } from '@penstock/runtime/owners.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { isKurrent } from './event-store-place.ts'
import { userOf } from './kafka-users.ts'
import { kurrentFaults, openKurrent } from './kurrent.ts'

export type Cluster = Platform & { readonly records: Records; readonly beside: OpenBeside; close(): Promise<void> }

/** What a process may do at the servers. */
export type Part = DatabasePart & BusPart

export type ClusterProcess = {
  readonly service: string
  readonly instance: string
  readonly log: Log
  /** Told what it waits for while a server does not answer. */
  readonly waitsFor: (reason: string) => void
}

const NO_BROKERS = 'PENSTOCK_KAFKA_BROKERS is empty; name some brokers of the cluster.'

/** One process of a cluster: facts in an event store server, messages over Kafka, all else in PostgreSQL. */
export async function cluster(config: Config, { service, instance, log, waitsFor }: ClusterProcess): Promise<Cluster> {
  if (config.postgresUrl === '') throw new ConfigError('PENSTOCK_POSTGRES_URL is empty; name the PostgreSQL of the cluster.')
  if (config.kafkaBrokers === '') throw new ConfigError(NO_BROKERS)
  const settings = postgresSettings(config, service)
  const views = openViews(settings, 'check')
  // A process that is started before its servers waits for them. Nothing ends the wait but the end of the process.
  const patiently = <T>(ask: () => Promise<T>): Promise<T> =>
    throughFaults(systemClock, new AbortController().signal, ask, ({ message }) => waitsFor(message))
  const progress = await patiently(() => sqlProgress(views))
  const store = await patiently(() => eventStore(config, settings, log))
  const kafka = await kafkaOptions(asUser(config, service), service, log)
  const bus = await patiently(() => kafkaBus(views, kafka))
  return {
    store,
    bus,
    views,
    clock: systemClock,
    ids: systemIds(),
    timers: await patiently(() => sqlTimers(views)),
    progress,
    limits: await patiently(() => sqlLimits(views)),
    leases: await patiently(() => sqlLeases(views, serverTime)),
    records: await patiently(() => sqlRecords(views)),
    beside: () => postgresBeside(settings),
    instance,
    config,
    log,
    async close() {
      await bus.close()
      await store.close()
      await views.close()
    },
  }
}

/** An index over all events takes its time; who runs the migration sets the limit. */
const LONGEST_STEP_MS = 6 * 3_600_000

/**
 * Brings all tables up to date: those of the ports, and those that `others` know of. Where services have roles or users of
 * their own, each gets the rights of its part.
 * @throws ConfigError without a PostgreSQL to migrate, or with users and no brokers
 */
export async function migrateCluster(
  config: Config,
  others: (views: Views) => Promise<void>,
  parts: () => readonly Part[],
): Promise<void> {
  if (config.postgresUrl === '') throw new ConfigError('PENSTOCK_POSTGRES_URL is empty; name the PostgreSQL of the cluster.')
  const settings = { ...postgresSettings(config, OWNER), statementTimeoutMs: LONGEST_STEP_MS }
  const views = openViews(settings, 'migrate')
  try {
    await migrateAll(views, owners, [parkedTables, others])
  } finally {
    await views.close()
  }
  const hasOwnStore = config.eventStore !== '' && !isKurrent(config.eventStore)
  if (hasOwnStore) await migrateStore(storeSettings(config, settings))
  if (config.kafkaUsers !== '') await grantUsers(config, parts())
  if (config.postgresRoles === '') return
  const roles = { prefix: config.postgresRoles, parts: parts(), passwords: config.postgresRolePasswords }
  await grantRoles(settings, roles, 'all')
  if (hasOwnStore) await grantRoles(storeSettings(config, settings), roles, 'facts')
}

/** Where each service has a user, a process logs in as its own. */
const asUser = (config: Config, service: string): Config =>
  config.kafkaUsers === '' ? config : { ...config, kafkaUser: userOf(config.kafkaUsers, service) }

async function grantUsers(config: Config, parts: readonly Part[]): Promise<void> {
  if (config.kafkaBrokers === '') throw new ConfigError(NO_BROKERS)
  const byUser = parts.map((part) => [userOf(config.kafkaUsers, part.service), part] as const)
  await grantTopics({ ...(await kafkaOptions(config, OWNER)), parts: new Map(byUser) })
}

const parkedTables = async (views: Views): Promise<void> => void (await parkedKeys(views, () => systemClock.now()))

async function migrateStore(settings: PostgresSettings): Promise<void> {
  const log = openViews(settings, 'migrate')
  try {
    await migrateEventLogs(log, owners)
  } finally {
    await log.close()
  }
}

const storeSettings = ({ eventStore: url, postgresRoles }: Config, settings: ServiceSettings): ServiceSettings =>
  url === '' ? settings : { ...settings, url: urlAs(url, postgresRoles, settings.service) }

/** The events of a cluster alone, for those who only read. @throws Fault where the store does not answer */
export const serverStore = (config: Config, application: string): Promise<EventStore> =>
  eventStore(config, postgresSettings(config, application), openLog('warn'))

/** What is wrong with the facts' tables, or the settings of their streams. @throws Fault where the store does not answer */
export const serverFaults = (config: Config): Promise<readonly TableFault[]> =>
  isKurrent(config.eventStore)
    ? kurrentFaults(config)
    : postgresTableFaults(storeSettings(config, postgresSettings(config, 'audit')), owners)

async function eventStore(config: Config, settings: ServiceSettings, log: Log): Promise<EventStore> {
  if (isKurrent(config.eventStore)) return openKurrent(config, log)
  const onFault = (fault: Error): void => log.warn({ reason: fault.message }, 'a follower of the event store starts again')
  return postgresEventStore({ ...storeSettings(config, settings), logs: owners, purpose: 'events', onFault })
}

/** `service`: whose process it is. */
type ServiceSettings = PostgresSettings & { readonly service: string }

const OWNER = 'migrate'

/** By the role of the service, where services have roles; the job that migrates owns the tables. */
function urlAs(url: string, prefix: string, service: string): string {
  if (prefix === '' || service === OWNER) return url
  const own = new URL(url)
  own.username = roleOf(prefix, service)
  own.password = ''
  return own.href
}

const postgresSettings = (config: Config, service: string): ServiceSettings => ({
  service,
  url: urlAs(config.postgresUrl, config.postgresRoles, service),
  ...(config.postgresPasswordFile !== '' && { passwordFile: config.postgresPasswordFile }),
  application: `penstock ${service}`,
  connections: config.postgresConnections,
  statementTimeoutMs: config.postgresTimeoutSeconds * 1000,
})

/**
 * Every commit is flushed: the processes outlive a crash of the database, and they go by what they know to be committed.
 */
const openViews = (settings: PostgresSettings, schema: 'check' | 'migrate'): Views =>
  openPostgresViews({ ...settings, purpose: 'views', schema })
