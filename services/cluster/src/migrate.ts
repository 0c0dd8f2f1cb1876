import { migrateGateway } from '@penstock/gateway/views/migrations.ts'
import { migrateCluster } from '@penstock/platforms/cluster.ts'
import type { Views } from '@penstock/ports/views.ts'
import { ConfigError, readConfig } from '@penstock/runtime/config.ts'
import { migrateUnfinished } from '@penstock/runtime/unfinished.ts'
import { parts } from './parts.ts'

/**
 * Brings the tables of a cluster up to this version and ends: the job that runs before the services do. Steps go
 * forward only; what ran before is left alone, and two that run at once wait for each other. Rights of roles are set anew.
 */
try {
  const others = async (views: Views): Promise<void> => {
    await migrateUnfinished(views)
    await migrateGateway(views)
  }
  await migrateCluster(readConfig(process.env), others, parts)
  console.log('The tables are up to date.')
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : `The tables could not be migrated: ${String(error)}`)
  process.exit(1)
}
