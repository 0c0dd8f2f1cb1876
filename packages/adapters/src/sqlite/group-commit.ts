import type { DatabaseSync } from 'node:sqlite'
import { Bug, Fault } from '@penstock/kernel/result.ts'

type Job = {
  action: () => unknown
  resolve: (value: never) => void
  reject: (reason: unknown) => void
  value: unknown
  bug: Bug | undefined
}

export type GroupHooks = {
  /** Called after the begin of a transaction. @returns whether another process has written since the last transaction */
  readonly onBegin: () => boolean
  readonly onEnding: () => void
  readonly onCommitted: (isForeign: boolean) => void
  readonly onRolledBack: () => void
}

/** Runs all actions that were queued in one event-loop turn in one transaction. */
export function createGroupCommit(db: DatabaseSync, { onBegin, onEnding, onCommitted, onRolledBack }: GroupHooks) {
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  let jobs: Job[] = []
  let isScheduled = false

  /** Blocks the event loop for one fdatasync, which takes less time than a round trip to a worker. */
  function flush(): void {
    isScheduled = false
    const group = jobs
    jobs = []
    if (group.length === 0) return
    let isForeign = false
    try {
      begin.run()
      isForeign = onBegin()
      for (const job of group) runJob(job)
      onEnding()
      commit.run()
    } catch (error) {
      rollBack(group, error)
      return
    }
    for (const job of group) {
      if (job.bug) job.reject(job.bug)
      else job.resolve(job.value as never) // `action` of this job returned it
    }
    onCommitted(isForeign)
  }

  function rollBack(group: readonly Job[], cause: unknown): void {
    if (db.isOpen && db.isTransaction) db.exec('rollback')
    onRolledBack()
    const reason = cause instanceof Error ? cause.message : String(cause)
    for (const job of group) job.reject(new Fault(`the log could not be written: ${reason}`, { cause }))
  }

  return {
    flush,
    add: <T>(action: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        jobs.push({ action, resolve, reject, value: undefined, bug: undefined })
        if (isScheduled) return
        isScheduled = true
        // Not a microtask, because a caller that appends in a loop would then starve sockets and timers.
        setImmediate(flush)
      }),
  }
}

/** A Bug rejects only its own job, because an action throws a Bug only before it writes. */
function runJob(job: Job): void {
  try {
    job.value = job.action()
  } catch (error) {
    if (!(error instanceof Bug)) throw error
    job.bug = error
  }
}
