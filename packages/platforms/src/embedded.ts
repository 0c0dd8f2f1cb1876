import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { sqliteBeside } from '@penstock/adapters/sqlite/beside.ts'
import { sqliteBus } from '@penstock/adapters/sqlite/bus.ts'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog as openMarketLog } from '@penstock/adapters/sqlite/log.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { OpenBeside } from '@penstock/ports/beside.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Config } from '@penstock/runtime/config.ts'
import { throughFaults } from '@penstock/runtime/backoff.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import type { DataDir } from './data-dir.ts'
import { keepsStore } from './event-store-place.ts'

export type Embedded = Platform & { readonly records: Records; readonly beside: OpenBeside; close(): Promise<void> }

/**
 * Everything in one process on SQLite: the log of facts and messages in one file, what can be made again in another. Facts may
 * be in a server instead, which is waited for.
 */
export async function embedded(dir: DataDir, config: Config, log: Log): Promise<Embedded> {
  const market = openMarketLog(dir.market)
  const store = await storeOf(dir, config, market, log)
  const views = openViews(dir.views)
  const recordFile = openViews(dir.records, { durable: true })
  const bus = sqliteBus(market)
  return {
    store,
    bus,
    views,
    clock: systemClock,
    ids: systemIds(),
    timers: await sqlTimers(views),
    progress: await sqlProgress(views),
    limits: await sqlLimits(views),
    leases: await sqlLeases(views, () => systemClock.now()),
    // One process has the folder to itself, so what the one before it held is its own.
    instance: 'standalone',
    records: await sqlRecords(recordFile),
    beside: () => sqliteBeside(dir.views, views),
    config,
    log,
    async close() {
      await bus.close()
      await store.close()
      await market.close()
      await views.close()
      await recordFile.close()
    },
  }
}

async function storeOf(dir: DataDir, config: Config, market: ReturnType<typeof openMarketLog>, log: Log): Promise<EventStore> {
  const own = sqliteEventStore(market)
  if (!keepsStore(dir, config, (await own.readAll('start', 1)).length > 0)) return own
  await own.close()
  // The client is loaded for those alone who ask a server.
  const { openKurrent } = await import('./kurrent.ts')
  return throughFaults(
    systemClock,
    new AbortController().signal,
    () => openKurrent(config, log),
    ({ message: reason }) => log.warn({ reason }, 'a server is waited for'),
  )
}
