import { DatabaseSync } from 'node:sqlite'
import { Fault } from '@penstock/kernel/result.ts'
import { keepCheckpointed } from './checkpoint.ts'
import { groupCommit } from './group-commit.ts'
import { openForReading } from './read-only.ts'

/** The database file that event store and bus share, with its one writer. */
export type MarketLog = {
  readonly db: DatabaseSync
  readonly readOnly: boolean
  /**
   * Runs `work` inside the next group commit and resolves once that is durable. All work that is queued by then shares
   * the commit, in order. Work that throws a Bug must not have written before; anything else rolls the group back.
   * @throws Fault where the commit may or may not have happened
   */
  write<T>(work: () => T): Promise<T>
  /** Called at the end of every transaction, before its commit. */
  onBeforeCommit(listener: () => void): void
  /** Called after each commit of this process, and with `foreign` after another process has written. */
  onCommit(listener: (foreign: boolean) => void): () => void
  /** Called when what was remembered of the tables is void: rolled back, or written by another process. */
  onReset(listener: () => void): void
  /** Whether another process has written since the last look, so that what is remembered is about to be void. */
  isOutdated(): boolean
  /** Commits what is queued and closes the file. */
  close(): Promise<void>
}

export type LogOptions = {
  /** For audits beside a running server. */
  readonly readOnly?: boolean
  /** How often other processes' writes are looked for. */
  readonly pollMs?: number
}

/** Opens or makes the file. Several processes may have it open; SQLite lets one write at a time. */
export function openLog(path: string, { readOnly = false, pollMs = 100 }: LogOptions = {}): MarketLog {
  const db = openDatabase(path, readOnly)
  const listeners = {
    beforeCommit: new Set<() => void>(),
    commit: new Set<(foreign: boolean) => void>(),
    reset: new Set<() => void>(),
  }
  const others = noticeOthers(db)
  const resetIfOthersWrote = (): boolean => {
    const wrote = others.wrote()
    if (wrote) for (const listener of listeners.reset) listener()
    return wrote
  }
  const announce = (foreign: boolean): void => {
    for (const listener of listeners.commit) listener(foreign)
  }
  const checkpoints = readOnly ? undefined : keepCheckpointed(path, db)
  const group = groupCommit(db, {
    begun: resetIfOthersWrote,
    ending: () => listeners.beforeCommit.forEach((listener) => listener()),
    committed: (foreign) => {
      announce(foreign)
      checkpoints?.committed()
    },
    rolledBack: () => listeners.reset.forEach((listener) => listener()),
  })
  const poll = setInterval(() => {
    if (resetIfOthersWrote()) announce(true)
  }, pollMs)
  poll.unref()
  let closed = false

  return {
    db,
    readOnly,
    write(work) {
      if (closed || readOnly) return Promise.reject(new Fault(closed ? 'the log is closed' : 'the log is open for reading only'))
      return group.add(work)
    },
    onBeforeCommit: (listener) => void listeners.beforeCommit.add(listener),
    onCommit(listener) {
      listeners.commit.add(listener)
      return () => listeners.commit.delete(listener)
    },
    onReset: (listener) => void listeners.reset.add(listener),
    isOutdated: () => others.areAhead(),
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

/** Whether another connection has written since `wrote` was asked the last time. */
function noticeOthers(db: DatabaseSync): { wrote(): boolean; areAhead(): boolean } {
  const dataVersion = db.prepare('pragma data_version')
  const look = () => dataVersion.get()?.['data_version']
  let version = look()
  return {
    wrote() {
      const now = look()
      if (now === version) return false
      version = now
      return true
    },
    areAhead: () => look() !== version,
  }
}

/**
 * WAL with synchronous=FULL: a commit is one fdatasync of the log. Pages of 8 KiB hold about eight events, so that a
 * group commit writes few of them and a single append not much more than it must.
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
