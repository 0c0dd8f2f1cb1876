/** A counting semaphore. Callers that find no free permit wait in the order of their arrival. */
export type RequestSemaphore = {
  /** @returns whether a permit was free; the caller returns it with `release` */
  readonly tryAcquire: () => boolean
  /** @returns false if the signal aborted first, without a permit */
  readonly acquire: (signal: AbortSignal) => Promise<boolean>
  readonly release: () => void
}

export function createRequestSemaphore(permits: number): RequestSemaphore {
  let available = permits
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
        if (signal.aborted) return resolve(false)
        if (tryAcquire()) return resolve(true)
        const cancelWait = (): void => {
          waiters.delete(grant)
          resolve(false)
        }
        const grant = (): void => {
          signal.removeEventListener('abort', cancelWait)
          resolve(true)
        }
        waiters.add(grant)
        signal.addEventListener('abort', cancelWait, { once: true })
      }),
    release() {
      const [next] = waiters
      if (!next) return void available++
      // The permit passes directly to the first waiter, so that a new caller cannot overtake it.
      waiters.delete(next)
      next()
    },
  }
}
