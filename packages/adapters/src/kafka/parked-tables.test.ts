import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openViews } from '../sqlite/views.ts'
import { parkedKeysContract } from './parked-tables.contract.ts'

parkedKeysContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-parked-'))
  const views = openViews(join(folder, 'views.db'))
  return {
    views,
    async teardown() {
      await views.close()
      await rm(folder, { recursive: true })
    },
  }
})
