/**
 * What runs on its own, to wait for at the end. Whatever may fail is tried again inside a task: one that rejects all the
 * same is a mistake of ours, and ends the process, since its key would stand still without a word.
 */
export function taskSet() {
  const tasks = new Set<Promise<void>>()
  return {
    add(task: Promise<void> | undefined): void {
      if (!task) return
      tasks.add(task)
      void task.finally(() => tasks.delete(task))
    },
    ended: async (): Promise<void> => void (await Promise.allSettled(tasks)),
  }
}
