import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'

/** A stream of notices. It may end at any time without a word; `ended` says so where it can. @returns what ends it */
type Listen = (knock: () => void, ended: () => void) => () => void

type Options<T> = {
  /** What is there now; undefined: nothing yet. A Fault is left for the next time. */
  readonly read: () => Promise<T | undefined>
  readonly listen?: Listen
  readonly pollMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * What is there, the present state first, then every change of it. Notices only say when to read: one that never comes,
 * or a stream that has died, costs the time until the next poll, which also opens it again.
 */
export async function* changing<T>({ read, listen, pollMs, clock, signal }: Options<T>): AsyncGenerator<T> {
  const bell = makeBell()
  let hangUp: (() => void) | undefined
  const ended = (): void => {
    hangUp?.()
    hangUp = undefined
  }
  signal.addEventListener('abort', bell.ring)
  let last: string | undefined
  try {
    while (!signal.aborted) {
      const rung = bell.next()
      hangUp ??= listen?.(bell.ring, ended)
      const now = await read().catch(ignoreFault)
      const text = JSON.stringify(now, bigintAsText)
      if (now !== undefined && text !== last) {
        last = text
        yield now
      }
      const rest = new AbortController()
      await Promise.race([rung, clock.sleep(pollMs, rest.signal)])
      rest.abort()
    }
  } finally {
    signal.removeEventListener('abort', bell.ring)
    ended()
  }
}

function makeBell() {
  let ring = (): void => {}
  return {
    ring: () => ring(),
    /** Resolves with the first ring from now on. */
    next: () => new Promise<void>((resolve) => (ring = resolve)),
  }
}

function ignoreFault(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error
}

const bigintAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value)
