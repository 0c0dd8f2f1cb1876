import { openDataDir } from '@penstock/config/data-dir.ts'
import { readConfig } from '@penstock/config/config.ts'
import { createGatewayApp } from '@penstock/gateway/http/app.ts'
import { openReadModelWaiters } from '@penstock/gateway/commands/read-model-waiters.ts'
import { migrateGateway } from '@penstock/gateway/migrations.ts'
import type { Gateway } from '@penstock/gateway/ports.ts'
import { openEmbeddedPlatform } from '@penstock/platforms/embedded.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { createTempFolder } from './sample-stores.ts'

export const BENCH_PEPPER = new Uint8Array(32).fill(7)

type TableRow = Readonly<Record<string, SQLInputValue>>

export type BenchGateway = { readonly gateway: Gateway; readonly close: () => Promise<void> }
/** Inserts rows that have the same columns. */
export type InsertRows = (file: 'views' | 'records', table: string, rows: Iterable<TableRow>) => void

/**
 * Opens a gateway without a server, on read models of the caller's rows. It answers queries, and no service handles its
 * commands. The clock stands still.
 */
export async function openBenchGateway(name: string, fill: (insert: InsertRows) => void): Promise<BenchGateway> {
  const dir = openDataDir(createTempFolder(name))
  const platform = await openEmbeddedPlatform(dir, readConfig({ PENSTOCK_DASHBOARD_PER_MINUTE: '0' }), openLogger('silent'))
  await migrateGateway(platform.views)
  fill((file, table, rows) => insertRows(dir[file], table, rows))
  const now = Date.now()
  const closing = new AbortController()
  const { gateway, close } = await createGatewayApp({
    ports: {
      ...platform,
      clock: { ...platform.clock, now: () => now },
      peers: { addresses: () => Promise.resolve({ alias: '', sockets: [] }) },
      deliveryLog: platform.deliveries,
      hostGuard: null,
      webhookGuard: () => Promise.resolve({ allowed: false, reason: 'a benchmark calls no webhook' }),
      sealer: { seal: () => Promise.reject(new Error('a benchmark seals no secret')) },
      readiness: () => Promise.resolve(undefined),
      hasSpaceForOrders: () => true,
    },
    send: () => Promise.reject(new Error('the gateway of a benchmark sends no commands')),
    waiters: openReadModelWaiters(),
    pepper: BENCH_PEPPER,
    baseUrl: () => 'https://market.example',
    closing: closing.signal,
    mounts: [],
  })
  return {
    gateway,
    async close() {
      closing.abort()
      await close()
      await platform.close()
    },
  }
}

/** Inserts rows in one transaction, without a flush, so that a million rows take seconds. */
function insertRows(path: string, table: string, rows: Iterable<TableRow>): void {
  const db = new DatabaseSync(path)
  db.exec('pragma synchronous = off; pragma cache_size = -1048576; begin')
  let statement: ReturnType<typeof db.prepare> | undefined
  for (const row of rows) {
    const columns = Object.keys(row)
    statement ??= db.prepare(`insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`)
    statement.run(...Object.values(row))
  }
  // Without the checkpoint, each read would search the log of the whole transaction.
  db.exec('commit; pragma wal_checkpoint(truncate)')
  db.close()
}
