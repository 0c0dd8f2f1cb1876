/** Admits `count` holders at a time. Other callers wait in the order of their arrival. */
export function createSemaphore(count: number) {
  const waiters: (() => void)[] = []
  let available = count
  return {
    /** Acquires a slot only if one is free now. @returns whether it did */
    tryAcquire(): boolean {
      if (available === 0) return false
      available--
      return true
    },
    async acquire(): Promise<void> {
      if (available > 0) available--
      else await new Promise<void>((resolve) => waiters.push(resolve))
    },
    release(): void {
      const next = waiters.shift()
      if (next) next()
      else available++
    },
  }
}
