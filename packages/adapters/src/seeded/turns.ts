import type { Mortal } from './mortal.ts'

/** One at a time, first come first served; who dies gives its turn to the next. */
export type Turns = {
  /** Resolves with what ends the turn; never for a process that died while it waited. */
  take(process: Mortal, whenDead: () => void): Promise<() => void>
}

export function turns(): Turns {
  const waiting: (() => boolean)[] = []
  let isTaken = false
  const next = (): void => {
    isTaken = false
    while (!isTaken && waiting.length > 0) isTaken = waiting.shift()?.() ?? false
  }
  return {
    async take(process, whenDead) {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      /** @returns whether somebody has the turn now */
      const begin = (): boolean => {
        if (!process.alive()) return false
        const forget = process.onDeath(() => {
          whenDead()
          next()
        })
        resolve(() => {
          forget()
          if (process.alive()) next()
        })
        return true
      }
      if (isTaken) waiting.push(begin)
      else isTaken = begin()
      const end = await promise
      // It may have died in the same step in which it was given the turn.
      return process.alive() ? end : new Promise<never>(() => undefined)
    },
  }
}
