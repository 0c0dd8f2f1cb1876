import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { withDamageCheck } from '@penstock/adapters/sqlite/damage.ts'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { hasEventTables } from '@penstock/adapters/sqlite/event-tables.ts'
import { type MarketLog, openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import { findSchemaFaults } from '@penstock/adapters/sqlite/schema-check.ts'
import type { SchemaFault } from '@penstock/adapters/shared/schema-check.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { readConfig } from '@penstock/config/config.ts'
import { readServerAddress } from '@penstock/config/event-store-address.ts'

/** A store that is read while its owner may write to it. `findFaults` checks its tables against each other. */
export type OpenedStore = EventStore & { readonly file: string; findFaults(): Promise<readonly SchemaFault[]> }

/** A store in a file or on a server. `location`: its file or url. `file`: the market.db next to its log heads, if it exists. */
export type LocatedStore = EventStore & {
  readonly location: string
  readonly file?: string
  findFaults(): Promise<readonly SchemaFault[]>
}

/**
 * Opens an event store for reading, whether or not its market runs. Passwords come from the configured files.
 * @param place a data folder, its market.db, or the url of a cluster's event store
 */
export async function openStoreAt(place: string): Promise<LocatedStore> {
  if (!/^\w+(\+\w+)?:\/\//.test(place)) {
    const server = readServerAddress(place)
    // PENSTOCK_EVENT_STORE may contain a password, which the folder does not store.
    if (server !== undefined) {
      const configured = process.env['PENSTOCK_EVENT_STORE']
      return {
        ...(await openServer(configured === undefined || configured === '' ? server : configured)),
        file: marketFileIn(place),
      }
    }
    const store = openLocalStore(place)
    return { ...store, location: resolve(store.file) }
  }
  return openServer(place)
}

async function openServer(location: string): Promise<LocatedStore> {
  // The clients are imported only if a server stores the facts.
  const { findServerFaults, openServerStore } = await import('./cluster.ts')
  const config = readConfig({ ...process.env, PENSTOCK_EVENT_STORE: location })
  const store = await openServerStore(config, 'audit')
  return { ...store, location, findFaults: () => findServerFaults(config) }
}

/**
 * Opens the facts of an embedded installation for reading, whether or not its market runs.
 * @param path a data folder, or its market.db
 * @throws Error if the file does not exist, or if a server stores the facts
 */
export function openLocalStore(path: string): OpenedStore {
  const server = readServerAddress(path)
  if (server !== undefined) throw new Error(`The facts of ${path} are in the event store at ${server}; open that address.`)
  const file = marketFileIn(path)
  if (!existsSync(file)) throw new Error(`There is no store at ${path}; give a data folder or its market.db.`)
  const log = openMarketFile(file)
  const store = sqliteEventStore(log)
  return {
    ...store,
    file,
    findFaults: async () => findSchemaFaults(log.db),
    async close() {
      await store.close()
      await log.close()
    },
  }
}

/** @throws Error if the file is not the store of a market */
function openMarketFile(file: string): MarketLog {
  const log = withDamageCheck(() => openMarketLog(file, { readOnly: true }))
  if (hasEventTables(log.db)) return log
  void log.close()
  throw new Error(`${file} is not the store of a market: it has no table of events.`)
}

const marketFileIn = (path: string): string => (existsSync(path) && statSync(path).isDirectory() ? join(path, 'market.db') : path)
