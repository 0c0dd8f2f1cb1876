import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { mayGrant } from '@penstock/adapters/kafka/may-grant.ts'
import { openSharedParkedKeys } from '@penstock/adapters/kafka/parked-tables.ts'
import { type BusPermissions, grantTopics } from '@penstock/adapters/kafka/rights.ts'
import { loadKafkaOptions } from '@penstock/adapters/kafka/settings.ts'
import { openPostgresShadowTables } from '@penstock/adapters/postgres/shadow-tables.ts'
import { migrateEventLogs } from '@penstock/adapters/postgres/event-schema.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { migrateAll } from '@penstock/adapters/postgres/migrate-all.ts'
import type { PostgresSettings } from '@penstock/adapters/postgres/pool.ts'
import { checkOwners, grantRoles, type DatabasePermissions, roleNameOf } from '@penstock/adapters/postgres/roles.ts'
import { serverTime } from '@penstock/adapters/postgres/server-time.ts'
import { findPostgresSchemaFaults } from '@penstock/adapters/postgres/schema-check.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { SchemaFault } from '@penstock/adapters/shared/schema-check.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { OpenShadowTables } from '@penstock/ports/shadow-tables.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { Deliveries, DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import { retryFaults } from '@penstock/runtime/retry.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { isLowPriority } from '@penstock/runtime/commands/messages.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { isKurrentUrl } from '@penstock/config/event-store-address.ts'
import { withServiceUser, assertLogin, kafkaUserOf } from '@penstock/config/kafka-users.ts'

export type ClusterPlatform = Platform & {
  readonly records: Records
  readonly deliveries: Deliveries & DeliveryLog
  readonly openShadowTables: OpenShadowTables
  close(): Promise<void>
}

/** The permissions of a process at PostgreSQL and the brokers. */
export type ServerRights = DatabasePermissions & BusPermissions

export type ClusterProcess = {
  readonly service: string
  readonly instance: string
  readonly log: Logger
  /** Called with the reason while a server does not answer. */
  readonly onWaiting: (reason: string) => void
}

const NO_BROKERS = 'PENSTOCK_KAFKA_BROKERS is empty; set it to brokers of the cluster.'

/** Opens the platform of a process of a cluster: an event store server for facts, Kafka for messages, PostgreSQL for the rest. */
export async function openClusterPlatform(
  config: Config,
  { service, instance, log, onWaiting }: ClusterProcess,
): Promise<ClusterPlatform> {
  if (config.postgresUrl === '') throw new ConfigError('PENSTOCK_POSTGRES_URL is empty; set it to the PostgreSQL of the cluster.')
  if (config.kafkaBrokers === '') throw new ConfigError(NO_BROKERS)
  const settings = toPostgresSettings(config, service)
  const views = openViews(settings, 'check')
  // A process that starts before its servers retries until they answer.
  const withRetries = <T>(run: () => Promise<T>): Promise<T> =>
    retryFaults({ clock: systemClock, ids: systemChance }, new AbortController().signal, run, ({ message }) => onWaiting(message))
  const progress = await withRetries(() => sqlProgress(views))
  const store = await withRetries(() => openEventStore(config, settings, log))
  const kafka = await loadKafkaOptions(withServiceUser(config, service), service, log)
  const bus = await withRetries(() => kafkaBus(views, { ...kafka, isLowPriority }))
  const closed = new AbortController()
  if (config.kafkaUsers !== '') void warnAboutRights(kafka, log, closed.signal)
  return {
    store,
    bus,
    views,
    clock: systemClock,
    ids: systemIds(),
    timers: await withRetries(() => sqlTimers(views)),
    progress,
    limits: await withRetries(() => sqlLimits(views)),
    leases: await withRetries(() => sqlLeases(views, serverTime)),
    records: await withRetries(() => sqlRecords(views)),
    deliveries: await withRetries(() => sqlDeliveries(views)),
    openShadowTables: () => openPostgresShadowTables(settings),
    instance,
    config,
    log,
    async close() {
      closed.abort()
      await bus.close()
      await store.close()
      await views.close()
    },
  }
}

/** Runs in the background, because faults of the brokers must not delay the services that guard money. */
async function warnAboutRights(kafka: KafkaBusOptions, log: Logger, signal: AbortSignal): Promise<void> {
  if (!(await mayGrant(kafka, systemClock, signal))) return
  log.error(
    { user: kafka.clientId },
    "the brokers let this service's user change all permissions, so that the permissions protect nothing: set allow.everyone.if.no.acl.found=false and an authorizer.class.name, and list no service's user in super.users",
  )
}

/** Timeout of a statement of the migration, which may build an index over all events. An operator can stop it earlier. */
const MIGRATION_TIMEOUT_MS = 6 * 3_600_000

/**
 * Migrates the tables of the ports, and other tables by `migrateOtherTables`. If services have their own roles or users, it
 * grants each service its permissions.
 * @throws ConfigError if no PostgreSQL is configured, or if users are configured without brokers
 */
export async function migrateCluster(
  config: Config,
  migrateOtherTables: (views: Views) => Promise<void>,
  permissions: () => readonly ServerRights[],
): Promise<void> {
  if (config.postgresUrl === '') throw new ConfigError('PENSTOCK_POSTGRES_URL is empty; set it to the PostgreSQL of the cluster.')
  const settings = { ...toPostgresSettings(config, OWNER), statementTimeoutMs: MIGRATION_TIMEOUT_MS }
  const hasOwnStore = config.eventStore !== '' && !isKurrentUrl(config.eventStore)
  const databases = [settings, ...(hasOwnStore ? [toStoreSettings(config, settings)] : [])]
  const roles = { prefix: config.postgresRoles, permissions: permissions(), passwords: config.postgresRolePasswords }
  const hasRoles = roles.prefix !== ''
  for (const database of hasRoles ? databases : []) await checkOwners(database, roles)
  const views = openViews(settings, 'migrate')
  try {
    await migrateAll(views, categoryOwners, [migrateParkedTables, migrateOtherTables])
  } finally {
    await views.close()
  }
  if (hasOwnStore) await migrateStore(toStoreSettings(config, settings))
  if (config.kafkaUsers !== '') await grantKafkaUsers(config, roles.permissions)
  for (const database of hasRoles ? databases : []) await grantRoles(database, roles)
}

async function grantKafkaUsers(config: Config, parts: readonly ServerRights[]): Promise<void> {
  if (config.kafkaBrokers === '') throw new ConfigError(NO_BROKERS)
  assertLogin(config)
  const byUser = parts.map((part) => [kafkaUserOf(config.kafkaUsers, part.service), part] as const)
  await grantTopics({ ...(await loadKafkaOptions(config, OWNER)), parts: new Map(byUser) })
}

const migrateParkedTables = async (views: Views): Promise<void> =>
  void (await openSharedParkedKeys(views, () => systemClock.now()))

async function migrateStore(settings: PostgresSettings): Promise<void> {
  const log = openViews(settings, 'migrate')
  try {
    await migrateEventLogs(log, categoryOwners)
  } finally {
    await log.close()
  }
}

const toStoreSettings = ({ eventStore: url, postgresRoles }: Config, settings: ServiceSettings): ServiceSettings =>
  url === '' ? settings : { ...settings, url: urlForService(url, postgresRoles, settings.service) }

/** Opens only the event store of a cluster, for readers. @throws Fault if the store does not answer */
export const openServerStore = (config: Config, application: string): Promise<EventStore> =>
  openEventStore(config, toPostgresSettings(config, application), openLogger('warn'))

/** @returns faults in the tables or stream settings of the event store @throws Fault if the store does not answer */
export const findServerFaults = async (config: Config): Promise<readonly SchemaFault[]> =>
  isKurrentUrl(config.eventStore)
    ? (await importKurrent()).findKurrentFaults(config)
    : findPostgresSchemaFaults(toStoreSettings(config, toPostgresSettings(config, 'audit')), categoryOwners)

async function openEventStore(config: Config, settings: ServiceSettings, log: Logger): Promise<EventStore> {
  if (isKurrentUrl(config.eventStore)) return (await importKurrent()).openKurrent(config, log)
  const onFault = (fault: Error): void => log.warn({ reason: fault.message }, 'following the event store failed; restarting')
  return postgresEventStore({ ...toStoreSettings(config, settings), logs: categoryOwners, purpose: 'events', onFault })
}

/** The client of KurrentDB is a fifth of all modules of a service process, so only a process that uses it imports it. */
const importKurrent = () => import('./kurrent.ts')

/** `service` is the service of the process. */
type ServiceSettings = PostgresSettings & { readonly service: string }

const OWNER = 'migrate'

/** @returns the url with the service's own role, if services have roles. The migration's user owns the tables. */
function urlForService(url: string, prefix: string, service: string): string {
  if (prefix === '' || service === OWNER) return url
  const own = new URL(url)
  own.username = roleNameOf(prefix, service)
  own.password = ''
  return own.href
}

const toPostgresSettings = (config: Config, service: string): ServiceSettings => ({
  service,
  url: urlForService(config.postgresUrl, config.postgresRoles, service),
  ...(config.postgresPasswordFile !== '' && { passwordFile: config.postgresPasswordFile }),
  application: `penstock ${service}`,
  connections: config.postgresConnections,
  statementTimeoutMs: config.postgresTimeoutSeconds * 1000,
})

/** Every commit is flushed, because processes that survive a crash of the database rely on their commits. */
const openViews = (settings: PostgresSettings, schema: 'check' | 'migrate'): Views =>
  openPostgresViews({ ...settings, purpose: 'views', schema })
