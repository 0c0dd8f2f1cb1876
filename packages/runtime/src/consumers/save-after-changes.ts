import type { Clock } from '@penstock/ports/clock.ts'

export type SaverOptions = {
  readonly clock: Pick<Clock, 'sleep'>
  /** Milliseconds from a change to its save, and between two saves. */
  readonly everyMs: number
  /** Milliseconds between two calls of `save` without a change. */
  readonly idleMs: number
  /** Whether nothing is left to save. */
  readonly isIdle: () => boolean
  /** It does not reject. */
  readonly save: () => Promise<void>
}

/** Calls `save` some time after a change, until nothing is left to save, so that an idle process does not wake up for it. */
export function createSaver({ clock, everyMs, idleMs, isIdle, save }: SaverOptions) {
  let idle: AbortController | undefined
  return {
    noteChange: (): void => idle?.abort(),
    /** Runs until the signal, and then saves once more. */
    run: async (signal: AbortSignal): Promise<void> => {
      for (let isLast = false; !isLast;) {
        if (isIdle()) {
          idle = new AbortController()
          await clock.sleep(idleMs, AbortSignal.any([signal, idle.signal]))
          idle = undefined
        }
        await clock.sleep(everyMs, signal)
        isLast = signal.aborted
        await save()
      }
    },
  }
}
