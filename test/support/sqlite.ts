import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Reads a database file of a data folder, read-only, because another process may be writing to it. */
export function readDatabase<T>(dataDir: string, file: string, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
