import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { openSqliteShadowTables } from '@penstock/adapters/sqlite/shadow-tables.ts'
import { sqliteBus } from '@penstock/adapters/sqlite/bus/bus.ts'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import type { OpenShadowTables } from '@penstock/ports/shadow-tables.ts'
import type { Deliveries, DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Config } from '@penstock/config/config.ts'
import { retryFaults } from '@penstock/runtime/retry.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'
import { isStoreInServer } from '@penstock/config/event-store-address.ts'

export type EmbeddedPlatform = Platform & {
  readonly records: Records
  readonly deliveries: Deliveries & DeliveryLog
  readonly openShadowTables: OpenShadowTables
  close(): Promise<void>
}

/**
 * Opens the platform of a market in one process, on SQLite. One file stores facts and messages, one stores the data that can
 * be rebuilt from them, one stores records, and one stores webhook deliveries. If a server stores the facts, the start waits for
 * that server.
 */
export async function openEmbeddedPlatform(dir: DataDir, config: Config, log: Logger): Promise<EmbeddedPlatform> {
  const market = openMarketLog(dir.market)
  const store = await openStore(dir, config, market, log)
  const views = openViews(dir.views)
  const recordFile = openViews(dir.records, { durable: true })
  // After a power failure this file may be slightly old, with its position. The feed then makes the last deliveries again.
  const webhookFile = openViews(dir.webhooks)
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
    // Only one process uses the folder. Its fixed instance name lets it take over the leases of the previous process.
    instance: 'standalone',
    // A commit blocks the event loop, so changes of one turn of the loop share a commit.
    records: await sqlRecords(recordFile, nextTurn),
    deliveries: await sqlDeliveries(webhookFile),
    openShadowTables: () => openSqliteShadowTables(dir.views, views),
    config,
    log,
    async close() {
      await bus.close()
      await store.close()
      await market.close()
      await views.close()
      await recordFile.close()
      await webhookFile.close()
    },
  }
}

async function openStore(
  dir: DataDir,
  config: Config,
  market: ReturnType<typeof openMarketLog>,
  log: Logger,
): Promise<EventStore> {
  const own = sqliteEventStore(market)
  if (!isStoreInServer(dir, config, (await own.readAll('start', 1)).length > 0)) return own
  await own.close()
  // The client is imported only if a server stores the facts.
  const { openKurrent } = await import('./kurrent.ts')
  return retryFaults(
    { clock: systemClock, ids: systemChance },
    new AbortController().signal,
    () => openKurrent(config, log),
    ({ message: reason }) => log.warn({ reason }, 'waiting for a server'),
  )
}
