import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'

/**
 * Opens the facts of an embedded installation for reading, beside a running server or without one.
 * @param path a data folder, or its market.db
 * @throws Error with a sentence where there is no such file
 */
export function openStored(path: string): EventStore {
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'market.db') : path
  if (!existsSync(file)) throw new Error(`There is no store at ${path}; name a data folder or its market.db.`)
  const log = openLog(file, { readOnly: true })
  const store = sqliteEventStore(log)
  return {
    ...store,
    async close() {
      await store.close()
      await log.close()
    },
  }
}
