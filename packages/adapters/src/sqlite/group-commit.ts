import type { DatabaseSync } from 'node:sqlite'
import { Bug, Fault } from '@penstock/kernel/result.ts'

type Job = {
  work: () => unknown
  resolve: (value: never) => void
  reject: (reason: unknown) => void
  value: unknown
  bug: Bug | undefined
}

export type GroupHooks = {
  /** The transaction has begun. @returns whether another process has written since the last one */
  readonly begun: () => boolean
  readonly ending: () => void
  readonly committed: (foreign: boolean) => void
  readonly rolledBack: () => void
}

/** One transaction for everything that is queued in a turn of the event loop, or while a commit is under way. */
export function groupCommit(db: DatabaseSync, { begun, ending, committed, rolledBack }: GroupHooks) {
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  let jobs: Job[] = []
  let scheduled = false

  /** Blocks the event loop for one fdatasync, which is shorter than a trip to a worker and back. */
  function flush(): void {
    scheduled = false
    const group = jobs
    jobs = []
    if (group.length === 0) return
    let foreign = false
    try {
      begin.run()
      foreign = begun()
      for (const job of group) runJob(job)
      ending()
      commit.run()
    } catch (error) {
      abandon(group, error)
      return
    }
    for (const job of group) {
      if (job.bug) job.reject(job.bug)
      else job.resolve(job.value as never) // the value that this job's own work returned
    }
    committed(foreign)
  }

  function abandon(group: readonly Job[], cause: unknown): void {
    if (db.isOpen && db.isTransaction) db.exec('rollback')
    rolledBack()
    const reason = cause instanceof Error ? cause.message : String(cause)
    for (const job of group) job.reject(new Fault(`the log could not be written: ${reason}`, { cause }))
  }

  return {
    flush,
    add: <T>(work: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        jobs.push({ work, resolve, reject, value: undefined, bug: undefined })
        if (scheduled) return
        scheduled = true
        // Not a microtask: a caller that appends in a loop would keep sockets and timers from ever being served.
        setImmediate(flush)
      }),
  }
}

/** A Bug ends the job alone: it is thrown before anything was written. */
function runJob(job: Job): void {
  try {
    job.value = job.work()
  } catch (error) {
    if (!(error instanceof Bug)) throw error
    job.bug = error
  }
}
