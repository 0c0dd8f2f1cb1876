import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import { tableFaults } from '@penstock/adapters/sqlite/table-faults.ts'
import type { TableFault } from '@penstock/adapters/shared/table-fault.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { readConfig } from '@penstock/runtime/config.ts'

/** A store that is read beside its owner. `faults`: what its tables say of the events that is not so. */
export type Stored = EventStore & { readonly file: string; faults(): Promise<readonly TableFault[]> }

/** The same on a server, which has no files beside it. `place`: its file or its url. */
export type StoredAnywhere = EventStore & {
  readonly place: string
  readonly file?: string
  faults(): Promise<readonly TableFault[]>
}

/**
 * Opens facts for reading, beside a running market or without one.
 * @param place as in `openStored`, or the url of a cluster's event store; passwords come from the files that the settings name
 */
export async function openAnywhere(place: string): Promise<StoredAnywhere> {
  if (!/^\w+(\+\w+)?:\/\//.test(place)) {
    const store = openStored(place)
    return { ...store, place: resolve(store.file) }
  }
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
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'market.db') : path
  if (!existsSync(file)) throw new Error(`There is no store at ${path}; name a data folder or its market.db.`)
  const log = openLog(file, { readOnly: true })
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
