import { leasesContract, type LeasesWorld } from '@penstock/ports/leases.contract.ts'
import { limitsContract } from '@penstock/ports/limits.contract.ts'
import { progressContract } from '@penstock/ports/progress.contract.ts'
import { recordsContract } from '@penstock/ports/records.contract.ts'
import { timersContract } from '@penstock/ports/timers.contract.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { RawBuilder } from 'kysely'
import { sqlLeases } from './leases.ts'
import { sqlLimits } from './limits.ts'
import { sqlProgress } from './progress.ts'
import { sqlRecords } from './records.ts'
import { sqlTimers } from './timers.ts'

/** A database of its own for each test, that can be closed and opened again. */
export type Database = { open(): Views; teardown(): Promise<void> }
/** The clock that leases go by. */
export type LeaseClock = { readonly now: () => number | RawBuilder<number>; readonly pass: LeasesWorld['pass'] }

/** What the ports do whose tables stand in the views' database, whatever that is. */
export function sqlContracts(name: string, make: () => Promise<Database>, clock: () => LeaseClock): void {
  const world = async <Port>(port: (views: Views) => Promise<Port>) => {
    const database = await make()
    let views = database.open()
    return {
      views,
      port: await port(views),
      async reopen() {
        await views.close()
        views = database.open()
        return port(views)
      },
      async teardown() {
        await views.close()
        await database.teardown()
      },
    }
  }
  timersContract(name, async () => {
    const { port: timers, ...rest } = await world(sqlTimers)
    return { timers, ...rest }
  })
  limitsContract(name, async () => {
    const { port: limits, ...rest } = await world(sqlLimits)
    return { limits, ...rest }
  })
  progressContract(name, async () => {
    const { port: progress, ...rest } = await world(sqlProgress)
    return { progress, ...rest }
  })
  recordsContract(name, async () => {
    const { port: records, ...rest } = await world(sqlRecords)
    return { records, ...rest }
  })
  leasesContract(name, async () => {
    const { now, pass } = clock()
    const { port: leases, ...rest } = await world((views) => sqlLeases(views, now))
    return { leases, pass, ...rest }
  })
}
