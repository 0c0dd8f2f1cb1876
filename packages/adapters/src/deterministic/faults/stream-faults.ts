import { Fault } from '@penstock/kernel/result.ts'
import type { FaultKind } from './fault-injector.ts'
import type { SimulatedProcess } from './crash-injection.ts'

/** Faults of an async iterable of a port, such as the tips of a chain. */
export type StreamFaults = {
  /** The stream throws a Fault. */
  readonly cut?: FaultKind
  /** The stream yields nothing any more, and does not end. */
  readonly silent?: FaultKind
  /** The stream yields an item twice. */
  readonly repeat?: FaultKind
}

/**
 * Yields the items of an async iterable with latency and faults. It ends when the signal aborts. After a crash of the process it
 * neither ends nor yields.
 * @param point the name of the port's call, which is a crash point and begins the error message
 */
export async function* streamWithFaults<T>(
  process: SimulatedProcess,
  point: string,
  signal: AbortSignal,
  open: (signal: AbortSignal) => AsyncIterable<T>,
  { cut, silent, repeat }: StreamFaults = {},
): AsyncGenerator<T> {
  const crashed = new AbortController()
  const unsubscribe = process.onCrash(() => crashed.abort())
  try {
    for await (const item of open(AbortSignal.any([signal, crashed.signal]))) {
      await process.call(point, () => undefined)
      if (signal.aborted) return
      if (cut && process.isInjected(cut)) throw new Fault(`${point}: the connection broke off`)
      if (silent && process.isInjected(silent)) await waitForAbort(signal)
      if (signal.aborted) return
      yield item
      if (repeat && process.isInjected(repeat)) yield item
    }
    if (!process.isAlive()) await new Promise<never>(() => undefined)
  } finally {
    unsubscribe()
    // Closes the source even if the listener has stopped iterating.
    crashed.abort()
  }
}

const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
