import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { DataDir } from './data-dir.ts'

/** Long enough for a process that was just killed to be gone. */
const WAIT_MS = 5000

/**
 * Keeps a data folder for one process: two of them would handle every message twice. The lock is SQLite's own on a file
 * of its own, so it ends with the process, however that ends.
 * @throws Error with a sentence where another process has the folder
 */
export function lockDataDir(dir: DataDir): { release(): void } {
  const db = new DatabaseSync(join(dir.path, 'lock.db'), { timeout: WAIT_MS })
  try {
    db.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch {
    db.close()
    throw new Error(`another Penstock runs on the data folder ${dir.path}. Stop it, or set PENSTOCK_DATA_DIR to another folder.`)
  }
  return { release: () => db.close() }
}
