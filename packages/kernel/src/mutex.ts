/** Runs one piece of work at a time, in the order of the calls. Work that fails does not stop later work. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const current = last.then(work, work)
    last = current
    return current
  }
}

/** Runs the work on one key sequentially; different keys do not wait for each other. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const current = before ? before.then(work, work) : work()
    const settled = current.then(
      () => undefined,
      () => undefined,
    )
    last.set(key, settled)
    try {
      return await current
    } finally {
      if (last.get(key) === settled) last.delete(key)
    }
  }
}
