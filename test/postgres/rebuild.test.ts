import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresShadowTables } from '@penstock/adapters/postgres/shadow-tables.ts'
import { migrateReadModels } from '@penstock/adapters/postgres/read-models.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { openSqliteShadowTables } from '@penstock/adapters/sqlite/shadow-tables.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { describeRebuild } from './rebuild.contract.ts'
import { sharedPostgres } from './server.ts'

describeRebuild('PostgreSQL', async () => {
  const url = await sharedPostgres.createDatabase()
  const views = openPostgresViews({ url, schema: 'migrate' })
  await migrateReadModels(views)
  return {
    views,
    progress: await sqlProgress(views),
    beside: () => openPostgresShadowTables({ url }),
    teardown: () => views.close(),
  }
})

// A market in one process rebuilds in SQLite.
describeRebuild('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-rebuild-'))
  const path = join(folder, 'views.db')
  const views = openViews(path)
  return {
    views,
    progress: await sqlProgress(views),
    beside: () => openSqliteShadowTables(path, views),
    async teardown() {
      await views.close()
      await rm(folder, { recursive: true })
    },
  }
})
