import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import { type TableFault, tableFaults } from '@penstock/adapters/sqlite/table-faults.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'

/** A store that is read beside its owner. `faults`: what its tables say of the events that is not so. */
export type Stored = EventStore & { readonly file: string; faults(): readonly TableFault[] }

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
    faults: () => tableFaults(log.db),
    async close() {
      await store.close()
      await log.close()
    },
  }
}
