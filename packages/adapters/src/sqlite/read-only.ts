import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const READ_ONLY = { readOnly: true, timeout: 5000 }

/**
 * Opens a database for reading, while a writer has it open or on read-only media. In write-ahead mode SQLite needs a file next to
 * the database even for reads. If the folder is not writable, no process writes to the database either. It is then opened as
 * immutable, or as a temporary copy if it has a write-ahead log.
 */
export function openForReading(path: string): DatabaseSync {
  try {
    return openReadOnly(path)
  } catch (error) {
    if (!isCannotOpenError(error)) throw error
  }
  if (sizeOf(`${path}-wal`) > 0) return openCopy(path)
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return openReadOnly(url)
}

function openReadOnly(path: string | URL): DatabaseSync {
  const db = new DatabaseSync(path, READ_ONLY)
  try {
    // The first read opens the files next to the database.
    db.prepare('select count(*) from sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a copy with its write-ahead log. The log holds part of the data, and an immutable open ignores it. */
function openCopy(path: string): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-audit-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, 'market.db')
  copyFileSync(path, copy)
  copyFileSync(`${path}-wal`, `${copy}-wal`)
  return openReadOnly(copy)
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Result codes of SQLite for a file that cannot be written, and for a file that cannot be opened. */
const READONLY = 8
const CANTOPEN = 14
const isCannotOpenError = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  [READONLY, CANTOPEN].includes(error.errcode & 0xff)
