import type { Clock } from '@penstock/ports/clock.ts'

/** Sleeps that others can end. A call of `wake` between two sleeps ends the next one. */
export function createWaker(clock: Pick<Clock, 'sleep'>) {
  let woken = new AbortController()
  return {
    wake: (): void => woken.abort(),
    async sleep(ms: number, signal: AbortSignal): Promise<void> {
      await clock.sleep(ms, AbortSignal.any([signal, woken.signal]))
      woken = new AbortController()
    },
  }
}
