/** So many may be inside at once. Who finds it full waits, and goes in in the order in which he came. */
export type Gate = {
  /** @returns whether there was a place; each place that was taken is given back by `leave` */
  readonly tryEnter: () => boolean
  /** @returns false where the signal came first: no place is taken then */
  readonly enter: (signal: AbortSignal) => Promise<boolean>
  readonly leave: () => void
}

export function openGate(places: number): Gate {
  let free = places
  const waiting = new Set<() => void>()
  const tryEnter = (): boolean => {
    if (free === 0) return false
    free--
    return true
  }
  return {
    tryEnter,
    enter: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(false)
        if (tryEnter()) return resolve(true)
        const giveUp = (): void => {
          waiting.delete(goIn)
          resolve(false)
        }
        const goIn = (): void => {
          signal.removeEventListener('abort', giveUp)
          resolve(true)
        }
        waiting.add(goIn)
        signal.addEventListener('abort', giveUp, { once: true })
      }),
    leave() {
      const [next] = waiting
      if (!next) return void free++
      // The place goes from hand to hand: nobody who comes just now is before those who wait.
      waiting.delete(next)
      next()
    },
  }
}
