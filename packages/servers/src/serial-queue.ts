export type SerialQueue = <T>(work: () => Promise<T>) => Promise<T>

/** Runs tasks one at a time, in the order of the calls. A failed task does not stop later tasks. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const current = last.then(work, work)
    last = current
    return current
  }
}
