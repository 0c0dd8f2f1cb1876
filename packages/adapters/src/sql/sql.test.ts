import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openViews } from '../sqlite/views.ts'
import { sqlContracts } from './sql.contract.ts'

sqlContracts(
  'SQL on SQLite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-views-'))
    return {
      open: () => openViews(join(folder, 'views.db'), { durable: true }),
      teardown: () => rm(folder, { recursive: true }),
    }
  },
  () => {
    let now = 1_790_000_000_000
    return { now: () => now, pass: (ms) => Promise.resolve(void (now += ms)) }
  },
)
