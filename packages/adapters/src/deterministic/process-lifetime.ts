import type { VirtualSchedule } from './virtual-schedule.ts'

/** Whether a process is alive, and a scheduler whose actions run only while the process is alive. */
export type ProcessLifetime = {
  readonly isAlive: () => boolean
  /** Crashes the process at once. A second call has no effect. */
  readonly kill: () => void
  /** Calls the listener once, at the crash. @returns a function that removes the listener */
  readonly onCrash: (listener: () => void) => () => void
  /**
   * Runs an action after a virtual delay, if the process is still alive. If the process is frozen, the action runs after the
   * freeze.
   * @param orElse runs instead if the process has crashed
   * @returns a function that cancels the action
   */
  readonly later: (delayMs: number, action: () => void, label: string, orElse?: () => void) => () => void
  /** Freezes the process for `ms` milliseconds of virtual time. The process continues without notice. */
  readonly freeze: (ms: number) => void
}

export function createProcessLifetime(name: string, schedule: VirtualSchedule): ProcessLifetime {
  const listeners = new Set<() => void>()
  let isAlive = true
  let frozenUntilMs = 0

  return {
    isAlive: () => isAlive,
    kill() {
      if (!isAlive) return
      isAlive = false
      for (const listener of listeners) listener()
      listeners.clear()
    },
    onCrash(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    later(delayMs, action, label, orElse) {
      const runIfAlive = (): void => {
        if (!isAlive) return orElse?.()
        const frozenMs = frozenUntilMs - schedule.now()
        if (frozenMs > 0) cancel = schedule.later(frozenMs, runIfAlive, `${name} ${label}`)
        else action()
      }
      let cancel = schedule.later(delayMs, runIfAlive, `${name} ${label}`)
      return () => cancel()
    },
    freeze: (ms) => void (frozenUntilMs = schedule.now() + ms),
  }
}
