export type Turn = <T>(work: () => Promise<T>) => Promise<T>

/** One after the other, in the order in which they came, whatever became of those before. */
export function oneAtATime(): Turn {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work)
    last = mine
    return mine
  }
}
