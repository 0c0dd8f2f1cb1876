export type Semaphore = {
  /** Acquires a slot only if one is free now. @returns whether it did; the caller returns the slot with `release` */
  readonly tryAcquire: () => boolean
  /** @returns false if the signal aborted first, without a slot */
  readonly acquire: (signal?: AbortSignal) => Promise<boolean>
  readonly release: () => void
}

/** Admits `count` holders at a time. Other callers wait in the order of their arrival. */
export function createSemaphore(count: number): Semaphore {
  let available = count
  const waiters = new Set<() => void>()
  const tryAcquire = (): boolean => {
    if (available === 0) return false
    available--
    return true
  }
  return {
    tryAcquire,
    acquire: (signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve(false)
        if (tryAcquire()) return resolve(true)
        const cancelWait = (): void => {
          waiters.delete(grant)
          resolve(false)
        }
        const grant = (): void => {
          signal?.removeEventListener('abort', cancelWait)
          resolve(true)
        }
        waiters.add(grant)
        signal?.addEventListener('abort', cancelWait, { once: true })
      }),
    release() {
      const [next] = waiters
      if (!next) return void available++
      // The slot passes directly to the first waiter, so that a new caller cannot overtake it.
      waiters.delete(next)
      next()
    },
  }
}
