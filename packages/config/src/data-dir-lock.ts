import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { DataDir } from './data-dir.ts'

/** Milliseconds to wait for the lock, because a killed process may take some time to end. */
const WAIT_MS = 5000

/**
 * Locks a data folder for one process, because two processes would handle every message twice. The lock is an exclusive
 * SQLite transaction on its own file, so it ends with the process, even after a crash.
 * @throws Error if another process has locked the folder
 */
export function lockDataDir(dir: DataDir, waitMs = WAIT_MS): { release(): void } {
  const db = new DatabaseSync(join(dir.path, 'lock.db'), { timeout: waitMs })
  try {
    db.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch {
    db.close()
    throw new Error(`another Penstock runs on the data folder ${dir.path}. Stop it, or set PENSTOCK_DATA_DIR to another folder.`)
  }
  return { release: () => db.close() }
}
