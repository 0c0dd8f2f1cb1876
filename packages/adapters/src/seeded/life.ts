import type { Schedule } from './schedule.ts'

/** Whether a process lives, and what it has yet to do while it does. */
export type Life = {
  readonly alive: () => boolean
  /** Dead at once; again is harmless. */
  readonly kill: () => void
  /** Tells once, at the moment of death. @returns what takes that back */
  readonly onDeath: (listener: () => void) => () => void
  /**
   * After so much virtual time, if it lives then; what comes while it stands still happens when it goes on.
   * @param orElse what happens then where it has died
   */
  readonly later: (delayMs: number, action: () => void, label: string, orElse?: () => void) => () => void
  /** Stands still for so long, and goes on as if nothing had been. */
  readonly freeze: (ms: number) => void
}

export function life(name: string, schedule: Schedule): Life {
  const listeners = new Set<() => void>()
  let isAlive = true
  let frozenUntilMs = 0

  return {
    alive: () => isAlive,
    kill() {
      if (!isAlive) return
      isAlive = false
      for (const listener of listeners) listener()
      listeners.clear()
    },
    onDeath(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    later(delayMs, action, label, orElse) {
      const act = (): void => {
        if (!isAlive) return orElse?.()
        const frozenMs = frozenUntilMs - schedule.now()
        if (frozenMs > 0) cancel = schedule.later(frozenMs, act, `${name} ${label}`)
        else action()
      }
      let cancel = schedule.later(delayMs, act, `${name} ${label}`)
      return () => cancel()
    },
    freeze: (ms) => void (frozenUntilMs = schedule.now() + ms),
  }
}
