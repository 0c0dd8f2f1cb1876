import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

const LOG_BYTES = 64 << 20
const STEP = Buffer.alloc(1 << 20)

/**
 * A log file that is overwritten is twice as fast to flush as one that grows, so it is given its size ahead, a little at
 * each call. Zeros behind its end mean nothing to SQLite, which reads frames up to the first that is not valid. The
 * write lock is held, so that no other process adds its own frames there.
 * @returns whether it has its size
 */
export function growLog(db: DatabaseSync, path: string): boolean {
  try {
    db.exec('begin immediate')
  } catch {
    return false // another process writes: at the next call, then
  }
  const file = openSync(`${path}-wal`, 'r+')
  try {
    const size = fstatSync(file).size
    if (size < LOG_BYTES) writeSync(file, STEP, 0, STEP.length, size)
    return size >= LOG_BYTES
  } finally {
    db.exec('rollback')
    closeSync(file)
  }
}
