/** Runs tasks by id: a limited number at a time, and at most one per id. */
export type WorkerPool = {
  /** Queues ids. An id whose task is running runs once more afterwards, because its channel may have changed meanwhile. */
  add(ids: Iterable<string>): void
  running(): readonly Promise<void>[]
  /** Drops the waiting ids, and resolves when the running tasks have ended. */
  stop(): Promise<void>
}

/** @param task never rejects and has a timeout of its own, because it blocks one of the `limit` slots until it ends */
export function createWorkerPool(limit: number, task: (id: string) => Promise<void>): WorkerPool {
  const waiting = new Set<string>()
  const tasks = new Map<string, Promise<void>>()

  const startNext = (): void => {
    for (const id of waiting) {
      if (tasks.size >= limit) return
      if (tasks.has(id)) continue
      waiting.delete(id)
      tasks.set(id, work(id))
    }
  }
  async function work(id: string): Promise<void> {
    await task(id)
    tasks.delete(id)
    startNext()
  }

  return {
    add(ids) {
      for (const id of ids) waiting.add(id)
      startNext()
    },
    running: () => [...tasks.values()],
    async stop() {
      waiting.clear()
      await Promise.all(tasks.values())
    },
  }
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** Resolves when no pool runs a task, including tasks that were added meanwhile; after `ms` or an abort at the latest. */
export async function waitUntilIdle(sleep: Sleep, ms: number, pools: readonly WorkerPool[], signal: AbortSignal): Promise<void> {
  if (ms <= 0) return
  const stopTimer = new AbortController()
  const timeout = sleep(ms, AbortSignal.any([signal, stopTimer.signal]))
  const waitForTasks = async (): Promise<void> => {
    const work = pools.flatMap((one) => one.running())
    if (work.length === 0 || stopTimer.signal.aborted) return
    await Promise.all(work)
    await waitForTasks()
  }
  await Promise.race([waitForTasks(), timeout])
  stopTimer.abort()
}
