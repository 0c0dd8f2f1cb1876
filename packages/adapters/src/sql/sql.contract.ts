import { deliveriesContract } from '@penstock/ports/deliveries.contract.ts'
import { leasesContract, type LeasesFixture } from '@penstock/ports/leases.contract.ts'
import { limitsContract } from '@penstock/ports/limits.contract.ts'
import { progressContract } from '@penstock/ports/progress.contract.ts'
import { recordsContract } from '@penstock/ports/records.contract.ts'
import { timersContract } from '@penstock/ports/timers.contract.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { RawBuilder } from 'kysely'
import { sqlDeliveries } from './deliveries.ts'
import { sqlLeases } from './leases.ts'
import { sqlLimits } from './limits.ts'
import { sqlProgress } from './progress.ts'
import { sqlRecords } from './records.ts'
import { sqlTimers } from './timers.ts'

/** A separate database for each test, which can be closed and reopened. */
export type TestDatabase = { open(): Views; teardown(): Promise<void> }
/** The clock by which leases expire. */
export type LeaseClock = { readonly now: () => number | RawBuilder<number>; readonly pass: LeasesFixture['pass'] }

/** The contracts of all ports with tables in the views database, for every database. */
export function sqlContracts(name: string, make: () => Promise<TestDatabase>, clock: () => LeaseClock): void {
  const createFixture = async <Port>(port: (views: Views) => Promise<Port>) => {
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
    const { port: timers, ...rest } = await createFixture(sqlTimers)
    return { timers, ...rest }
  })
  limitsContract(name, async () => {
    const { port: limits, ...rest } = await createFixture(sqlLimits)
    return { limits, ...rest }
  })
  progressContract(name, async () => {
    const { port: progress, ...rest } = await createFixture(sqlProgress)
    return { progress, ...rest }
  })
  recordsContract(name, async () => {
    const { port: records, ...rest } = await createFixture(sqlRecords)
    return { records, ...rest }
  })
  deliveriesContract(name, async () => {
    const { port: deliveries, ...rest } = await createFixture(sqlDeliveries)
    return { deliveries, ...rest }
  })
  leasesContract(name, async () => {
    const { now, pass } = clock()
    const { port: leases, ...rest } = await createFixture((views) => sqlLeases(views, now))
    return { leases, pass, ...rest }
  })
}
