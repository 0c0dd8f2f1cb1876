/** Lets calls through while it is open, and knows how many are inside. */
export function gate(stop: AbortSignal) {
  let closed: PromiseWithResolvers<void> | undefined
  let empty: (() => void) | undefined
  let inside = 0

  /** @throws Error once all is stopped: what waits here is not begun any more */
  async function opens(): Promise<void> {
    while (closed) await closed.promise
    if (stop.aborted) throw new Error('stopped')
  }
  return {
    async through<T>(call: () => Promise<T>): Promise<T> {
      if (closed || stop.aborted) await opens()
      inside++
      try {
        return await call()
      } finally {
        inside--
        if (inside === 0) empty?.()
      }
    },
    /** It resolves when nobody is inside. */
    close(): Promise<void> {
      closed ??= Promise.withResolvers()
      if (inside === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const before = empty
        empty = () => {
          empty = undefined
          before?.()
          resolve()
        }
      })
    },
    open(): void {
      closed?.resolve()
      closed = undefined
    },
  }
}
