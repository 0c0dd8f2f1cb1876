import type { SimulatedProcess } from './faults/crash-injection.ts'

/** Admits one process at a time, in the order of requests. A crash of the holder releases the mutex. */
export type Mutex = {
  /** Resolves with a function that releases the mutex. The promise stays pending if the process crashes during the wait. */
  acquire(process: SimulatedProcess, onCrash: () => void): Promise<() => void>
}

export function createMutex(): Mutex {
  const waiting: (() => boolean)[] = []
  let isLocked = false
  const grantNext = (): void => {
    isLocked = false
    while (!isLocked && waiting.length > 0) isLocked = waiting.shift()?.() ?? false
  }
  return {
    async acquire(process, onCrash) {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      /** @returns whether the process holds the mutex now */
      const tryAcquire = (): boolean => {
        if (!process.isAlive()) return false
        const unsubscribe = process.onCrash(() => {
          onCrash()
          grantNext()
        })
        resolve(() => {
          unsubscribe()
          if (process.isAlive()) grantNext()
        })
        return true
      }
      if (isLocked) waiting.push(tryAcquire)
      else isLocked = tryAcquire()
      const release = await promise
      // The process may have crashed in the step in which it got the mutex.
      return process.isAlive() ? release : new Promise<never>(() => undefined)
    },
  }
}
