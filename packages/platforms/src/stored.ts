import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { unlessDamaged } from '@penstock/adapters/sqlite/damage.ts'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { hasEvents } from '@penstock/adapters/sqlite/event-tables.ts'
import { type MarketLog, openLog } from '@penstock/adapters/sqlite/log.ts'
import { tableFaults } from '@penstock/adapters/sqlite/table-faults.ts'
import type { TableFault } from '@penstock/adapters/shared/table-fault.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { serverOf } from './event-store-place.ts'

/** A store that is read beside its owner. `faults`: what its tables say of the events that is not so. */
export type Stored = EventStore & { readonly file: string; faults(): Promise<readonly TableFault[]> }

/** The same on a server. `place`: its file or its url; `file`: the market.db beside which its log heads are, where there is one. */
export type StoredAnywhere = EventStore & {
  readonly place: string
  readonly file?: string
  faults(): Promise<readonly TableFault[]>
}

/**
 * Opens facts for reading, beside a running market or without one.
 * @param place a data folder, its market.db, or the url of a cluster's event store; passwords come from the files that the settings name
 */
export async function openAnywhere(place: string): Promise<StoredAnywhere> {
  if (!/^\w+(\+\w+)?:\/\//.test(place)) {
    const server = serverOf(place)
    // What the market itself was told may have a password that the folder does not keep.
    if (server !== undefined) {
      const told = process.env['PENSTOCK_EVENT_STORE']
      return { ...(await openServer(told === undefined || told === '' ? server : told)), file: marketIn(place) }
    }
    const store = openStored(place)
    return { ...store, place: resolve(store.file) }
  }
  return openServer(place)
}

async function openServer(place: string): Promise<StoredAnywhere> {
  // Their clients are loaded for those alone who ask a server.
  const { serverFaults, serverStore } = await import('./cluster.ts')
  const config = readConfig({ ...process.env, PENSTOCK_EVENT_STORE: place })
  const store = await serverStore(config, 'audit')
  return { ...store, place, faults: () => serverFaults(config) }
}

/**
 * Opens the facts of an embedded installation for reading, beside a running server or without one.
 * @param path a data folder, or its market.db
 * @throws Error with a sentence where there is no such file
 */
export function openStored(path: string): Stored {
  const server = serverOf(path)
  if (server !== undefined) throw new Error(`The facts of ${path} are in the event store at ${server}; name that one.`)
  const file = marketIn(path)
  if (!existsSync(file)) throw new Error(`There is no store at ${path}; name a data folder or its market.db.`)
  const log = opened(file)
  const store = sqliteEventStore(log)
  return {
    ...store,
    file,
    faults: async () => tableFaults(log.db),
    async close() {
      await store.close()
      await log.close()
    },
  }
}

/** @throws Error with a sentence where the file is none of a market */
function opened(file: string): MarketLog {
  const log = unlessDamaged(() => openLog(file, { readOnly: true }))
  if (hasEvents(log.db)) return log
  void log.close()
  throw new Error(`${file} is no store of a market: it has no table of events.`)
}

const marketIn = (path: string): string => (existsSync(path) && statSync(path).isDirectory() ? join(path, 'market.db') : path)
