import type { VirtualSchedule } from '@penstock/adapters/deterministic/virtual-schedule.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'

/** Calls the invoice library before randomness is forbidden. At its first call it creates a random context; no result uses it. */
export function warmUpLibraries({ control }: Simnet): void {
  control.invoice('spare', 1n, 60)
}

/**
 * Gives libraries seeded random numbers and the simulated time while the real ones are forbidden. The curve library needs random
 * numbers to blind secrets, which changes no result. The invoice library reads the time for a flag that no code here uses.
 * Penstock's own code still fails if it reads randomness or the time.
 * @returns a function that restores the globals
 */
export function seedLibraries({ random, now }: VirtualSchedule): () => void {
  const draws = random.fork('blinding')
  const before = Object.getOwnPropertyDescriptor(crypto, 'getRandomValues')
  const forbidden: (target: Uint8Array<ArrayBuffer>) => Uint8Array = crypto.getRandomValues.bind(crypto)
  const getRandomValues = (target: Uint8Array<ArrayBuffer>): Uint8Array => {
    if (!isLibraryCaller()) return forbidden(target)
    target.set(draws.bytes(target.length))
    return target
  }
  Object.defineProperty(crypto, 'getRandomValues', { value: getRandomValues, configurable: true, writable: true })
  const ForbiddenDate = globalThis.Date
  globalThis.Date = new Proxy(ForbiddenDate, {
    construct: (target, values: unknown[], newTarget: unknown) =>
      Reflect.construct(target, values.length === 0 && isLibraryCaller() ? [now()] : values, newTarget as typeof Date) as Date,
  })
  return () => {
    globalThis.Date = ForbiddenDate
    if (before) Object.defineProperty(crypto, 'getRandomValues', before)
    else Reflect.deleteProperty(crypto, 'getRandomValues')
  }
}

/** Whether a library called the caller of this function. */
function isLibraryCaller(): boolean {
  const caller =
    new Error().stack
      ?.split('\n')
      .slice(3)
      .find((frame) => !frame.includes('node:')) ?? ''
  return caller.includes('node_modules')
}
