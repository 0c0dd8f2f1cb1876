import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/**
 * Subscribes to notifications. `onEnd` reports that the subscription has ended. @returns a function that ends the subscription
 */
type Listen = (notify: () => void, onEnd: () => void) => () => void

type ChangeStreamOptions<T> = {
  /** Reads the present state; undefined if there is none yet. After a Fault the next poll reads again. */
  readonly read: () => Promise<T | undefined>
  readonly listen?: Listen
  readonly pollMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Yields the present state, then every change. A notification only triggers a read. So a missed notification or a silent
 * subscription delays a change until the next poll, which also replaces an ended subscription.
 */
export async function* streamChanges<T>({ read, listen, pollMs, clock, signal }: ChangeStreamOptions<T>): AsyncGenerator<T> {
  const wakeUp = createWakeUp()
  let unsubscribe: (() => void) | undefined
  const onEnd = (): void => {
    unsubscribe?.()
    unsubscribe = undefined
  }
  signal.addEventListener('abort', wakeUp.wake)
  let last: string | undefined
  try {
    while (!signal.aborted) {
      const woken = wakeUp.next()
      unsubscribe ??= listen?.(wakeUp.wake, onEnd)
      const now = await read().catch(ignoreFault)
      const text = JSON.stringify(now, bigintAsText)
      if (now !== undefined && text !== last) {
        last = text
        yield now
      }
      const timer = new AbortController()
      await Promise.race([woken, clock.sleep(pollMs, timer.signal)])
      timer.abort()
    }
  } finally {
    signal.removeEventListener('abort', wakeUp.wake)
    onEnd()
  }
}

function createWakeUp() {
  let wake = (): void => {}
  return {
    wake: () => wake(),
    /** Resolves at the next `wake`. */
    next: () => new Promise<void>((resolve) => (wake = resolve)),
  }
}

function ignoreFault(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error
}

const bigintAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value)
