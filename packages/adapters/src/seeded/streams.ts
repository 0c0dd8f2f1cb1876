import { Fault } from '@penstock/kernel/result.ts'
import type { FaultKind } from './faults.ts'
import type { Mortal } from './mortal.ts'

export type StreamOptions = {
  /** Breaks off with a fault. */
  readonly cut?: FaultKind
  /** Says nothing any more, and does not end. */
  readonly silent?: FaultKind
  /** Says the same twice. */
  readonly repeat?: FaultKind
}

/**
 * What a process listens to: every item takes its time on the way. It ends with the signal; where the process has died it
 * neither ends nor says anything more.
 */
export async function* streamTo<T>(
  process: Mortal,
  point: string,
  signal: AbortSignal,
  open: (signal: AbortSignal) => AsyncIterable<T>,
  { cut, silent, repeat }: StreamOptions = {},
): AsyncGenerator<T> {
  const dead = new AbortController()
  const forget = process.onDeath(() => dead.abort())
  try {
    for await (const item of open(AbortSignal.any([signal, dead.signal]))) {
      await process.call(point, () => undefined)
      if (signal.aborted) return
      if (cut && process.strikes(cut)) throw new Fault(`${point}: the connection broke off`)
      if (silent && process.strikes(silent)) await ended(signal)
      if (signal.aborted) return
      yield item
      if (repeat && process.strikes(repeat)) yield item
    }
    if (!process.alive()) await new Promise<never>(() => undefined)
  } finally {
    forget()
    // Ends what was opened also where the listener has simply gone.
    dead.abort()
  }
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
