/**
 * Background tasks that can be awaited at the end. A task retries its own failures. A task that still rejects is a bug and ends
 * the process, because its key would otherwise stall silently.
 */
export function createTaskSet() {
  const tasks = new Set<Promise<void>>()
  return {
    add(task: Promise<void> | undefined): void {
      if (!task) return
      tasks.add(task)
      void task.finally(() => tasks.delete(task))
    },
    waitForAll: async (): Promise<void> => void (await Promise.allSettled(tasks)),
  }
}
