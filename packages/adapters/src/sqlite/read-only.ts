import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const READ_ONLY = { readOnly: true, timeout: 5000 }

/**
 * Opens a database for reading, beside its writer or on media where nothing can be written. In write-ahead mode SQLite
 * needs a file of its own beside the database even for reading. Where the folder takes none, nobody writes to the
 * database either: it is opened as one that never changes, or with its log as a copy in the folder for temporary files.
 */
export function openForReading(path: string): DatabaseSync {
  try {
    return reading(path)
  } catch (error) {
    if (!isUnopened(error)) throw error
  }
  if (sizeOf(`${path}-wal`) > 0) return copyOf(path)
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return reading(url)
}

function reading(path: string | URL): DatabaseSync {
  const db = new DatabaseSync(path, READ_ONLY)
  try {
    // The files beside the database are opened by the first read.
    db.prepare('select count(*) from sqlite_schema').get()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** What only the log has is part of the database, and an unchanging database is read without its log. */
function copyOf(path: string): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-audit-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, 'market.db')
  copyFileSync(path, copy)
  copyFileSync(`${path}-wal`, `${copy}-wal`)
  return reading(copy)
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** SQLite's result codes for a file that cannot be opened, or not be written. */
const READONLY = 8
const CANTOPEN = 14
const isUnopened = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  [READONLY, CANTOPEN].includes(error.errcode & 0xff)
