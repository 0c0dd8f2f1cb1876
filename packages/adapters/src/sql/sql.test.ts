import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leasesContract } from '@penstock/ports/leases.contract.ts'
import { limitsContract } from '@penstock/ports/limits.contract.ts'
import { progressContract } from '@penstock/ports/progress.contract.ts'
import { recordsContract } from '@penstock/ports/records.contract.ts'
import { timersContract } from '@penstock/ports/timers.contract.ts'
import type { Views } from '@penstock/ports/views.ts'
import { openViews } from '../sqlite/views.ts'
import { sqlLeases } from './leases.ts'
import { sqlLimits } from './limits.ts'
import { sqlProgress } from './progress.ts'
import { sqlRecords } from './records.ts'
import { sqlTimers } from './timers.ts'

/** A views database in a folder of its own, that can be closed and opened again. */
async function world<Port>(make: (views: Views) => Promise<Port>, durable = false) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-views-'))
  const open = () => openViews(join(folder, 'views.db'), { durable })
  let views = open()
  return {
    views,
    port: await make(views),
    async reopen() {
      await views.close()
      views = open()
      return make(views)
    },
    async teardown() {
      await views.close()
      await rm(folder, { recursive: true })
    },
  }
}

timersContract('SQL on SQLite', async () => {
  const { port, ...rest } = await world(sqlTimers)
  return { timers: port, ...rest }
})
limitsContract('SQL on SQLite', async () => {
  const { port, ...rest } = await world(sqlLimits)
  return { limits: port, ...rest }
})
progressContract('SQL on SQLite', async () => {
  const { port, ...rest } = await world(sqlProgress)
  return { progress: port, ...rest }
})
recordsContract('SQL on SQLite', async () => {
  const { port, ...rest } = await world(sqlRecords, true)
  return { records: port, ...rest }
})
leasesContract('SQL on SQLite', async () => {
  let now = 1_790_000_000_000
  const { port, ...rest } = await world((views) => sqlLeases(views, () => now))
  const pass = (ms: number) => Promise.resolve(void (now += ms))
  return { leases: port, pass, ...rest }
})
