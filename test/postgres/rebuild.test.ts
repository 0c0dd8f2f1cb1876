import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresBeside } from '@penstock/adapters/postgres/beside.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqliteBeside } from '@penstock/adapters/sqlite/beside.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { rebuildContract } from './rebuild.contract.ts'
import { aServer } from './server.ts'

const server = aServer()

rebuildContract('PostgreSQL', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url, schema: 'migrate' })
  return {
    views,
    progress: await sqlProgress(views),
    beside: () => postgresBeside({ url }),
    teardown: () => views.close(),
  }
})

// The embedded home's way to do the same.
rebuildContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-rebuild-'))
  const path = join(folder, 'views.db')
  const views = openViews(path)
  return {
    views,
    progress: await sqlProgress(views),
    beside: () => sqliteBeside(path, views),
    async teardown() {
      await views.close()
      await rm(folder, { recursive: true })
    },
  }
})
