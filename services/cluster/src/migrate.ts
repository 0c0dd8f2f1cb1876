import { migrateGateway } from '@penstock/gateway/migrations.ts'
import { migrateCluster } from '@penstock/platforms/cluster.ts'
import type { Views } from '@penstock/ports/views.ts'
import { readConfig } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { migrateOpenStreams } from '@penstock/runtime/processes/open-streams.ts'
import { listProcessPermissions } from './process-permissions.ts'

/**
 * The migration job, which runs before the services: it brings the tables of a cluster up to this version and ends. Steps
 * only go forward, and a completed step is skipped. Concurrent jobs wait for each other. Every job sets the rights of all roles.
 */
try {
  const migrateServiceTables = async (views: Views): Promise<void> => {
    await migrateOpenStreams(views)
    await migrateGateway(views)
  }
  await migrateCluster(readConfig(process.env), migrateServiceTables, listProcessPermissions)
  console.log('The tables are up to date.')
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : `The tables could not be migrated: ${String(error)}`)
  process.exit(1)
}
