/** Runs calls, and delays new calls while it is paused. */
export function createPausableGate(stop: AbortSignal) {
  let paused: PromiseWithResolvers<void> | undefined
  let notifyIdle: (() => void) | undefined
  let runningCalls = 0

  /** @throws Error after the stop, so that a delayed call does not start */
  async function waitUntilOpen(): Promise<void> {
    while (paused) await paused.promise
    if (stop.aborted) throw new Error('stopped')
  }
  return {
    async run<T>(call: () => Promise<T>): Promise<T> {
      if (paused || stop.aborted) await waitUntilOpen()
      runningCalls++
      try {
        return await call()
      } finally {
        runningCalls--
        if (runningCalls === 0) notifyIdle?.()
      }
    },
    /** Resolves when no call is running. After the stop no call starts anyway, so a pause has nothing to delay. */
    pause(): Promise<void> {
      if (!stop.aborted) paused ??= Promise.withResolvers()
      if (runningCalls === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const previous = notifyIdle
        notifyIdle = () => {
          notifyIdle = undefined
          previous?.()
          resolve()
        }
      })
    },
    resume(): void {
      paused?.resolve()
      paused = undefined
    },
  }
}
