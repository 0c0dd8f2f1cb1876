import { DatabaseSync } from 'node:sqlite'
import { Fault } from '@penstock/kernel/result.ts'
import { startCheckpointing } from './checkpoint.ts'
import { createGroupCommit } from './group-commit.ts'
import { openForReading } from './read-only.ts'

/** The database file that the event store and the bus share. It has one writer at a time. */
export type MarketLog = {
  readonly db: DatabaseSync
  readonly readOnly: boolean
  /**
   * Runs `action` inside the next group commit, and resolves once the commit is durable. Queued actions run in order. An action
   * may throw a Bug only before it writes; any other error rolls the whole group back.
   * @throws Fault if it is unknown whether the commit happened
   */
  write<T>(action: () => T): Promise<T>
  /** Called at the end of every transaction, before its commit. */
  onBeforeCommit(listener: () => void): void
  /** Called after each commit of this process, and with `isForeign` after another process has written. */
  onCommit(listener: (isForeign: boolean) => void): () => void
  /** Called when caches of the tables become invalid by a rollback or by a write of another process. */
  onReset(listener: () => void): void
  /** Whether another process has written since the last check, so that the caches are stale. */
  isOutdated(): boolean
  /** Commits the queued actions and closes the file. */
  close(): Promise<void>
}

export type MarketLogOptions = {
  /** Opens the file for an audit, while a server may have it open. */
  readonly readOnly?: boolean
  /** Milliseconds between two checks for writes of other processes. */
  readonly pollMs?: number
}

/** A market has one process, so another process writes only rarely. */
const POLL_MS = 1000

/** Opens or creates the file. Several processes may open it; SQLite admits one writer at a time. */
export function openMarketLog(path: string, { readOnly = false, pollMs = POLL_MS }: MarketLogOptions = {}): MarketLog {
  const db = openDatabase(path, readOnly)
  const listeners = {
    beforeCommit: new Set<() => void>(),
    commit: new Set<(isForeign: boolean) => void>(),
    reset: new Set<() => void>(),
  }
  const otherWriters = watchOtherWriters(db)
  const resetIfOthersWrote = (): boolean => {
    const hasWritten = otherWriters.hasWritten()
    if (hasWritten) for (const listener of listeners.reset) listener()
    return hasWritten
  }
  const notifyCommit = (isForeign: boolean): void => {
    for (const listener of listeners.commit) listener(isForeign)
  }
  const checkpoints = readOnly ? undefined : startCheckpointing(path, db, { preallocates: true })
  const group = createGroupCommit(db, {
    onBegin: resetIfOthersWrote,
    onEnding: () => listeners.beforeCommit.forEach((listener) => listener()),
    onCommitted: (isForeign) => {
      notifyCommit(isForeign)
      checkpoints?.onCommit()
    },
    onRolledBack: () => listeners.reset.forEach((listener) => listener()),
  })
  const poll = setInterval(() => {
    if (resetIfOthersWrote()) notifyCommit(true)
  }, pollMs)
  poll.unref()
  let closed = false

  return {
    db,
    readOnly,
    write(action) {
      if (closed || readOnly) return Promise.reject(new Fault(closed ? 'the log is closed' : 'the log is open for reading only'))
      return group.add(action)
    },
    onBeforeCommit: (listener) => void listeners.beforeCommit.add(listener),
    onCommit(listener) {
      listeners.commit.add(listener)
      return () => listeners.commit.delete(listener)
    },
    onReset: (listener) => void listeners.reset.add(listener),
    isOutdated: () => otherWriters.isAhead(),
    async close() {
      if (closed) return
      closed = true
      clearInterval(poll)
      group.flush()
      await checkpoints?.close()
      db.close()
    },
  }
}

/** `hasWritten` reports a write of another connection since its previous call. `isAhead` checks the same without a reset. */
function watchOtherWriters(db: DatabaseSync): { hasWritten(): boolean; isAhead(): boolean } {
  const dataVersion = db.prepare('pragma data_version')
  const readVersion = () => dataVersion.get()?.['data_version']
  let version = readVersion()
  return {
    hasWritten() {
      const now = readVersion()
      if (now === version) return false
      version = now
      return true
    },
    isAhead: () => readVersion() !== version,
  }
}

/**
 * With WAL and synchronous=FULL, a commit is one fdatasync of the log. A page of 8 KiB contains about eight events. A group
 * commit then writes few pages, and a single append writes little more than its event.
 */
function openDatabase(path: string, readOnly: boolean): DatabaseSync {
  if (readOnly) return openForReading(path)
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec(`
    pragma page_size = 8192;
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma wal_autocheckpoint = 0;
    pragma cache_size = -65536;
    pragma temp_store = memory;
  `)
  return db
}
