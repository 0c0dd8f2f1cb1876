import type { Schedule } from '@penstock/adapters/seeded/schedule.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'

/** The library of invoices makes itself a random context once in a process, which changes no result. */
export function warmUp({ control }: Simnet): void {
  control.invoice('spare', 1n, 60)
}

/**
 * What libraries take from the machine without need is the seed's while globals are poisoned: the library of curves blinds
 * its secrets with random numbers that change no result, and the library of invoices tells with every invoice whether it
 * has expired, which nobody asks. Our own code, today's or pinned, fails as before in both.
 * @returns what takes it back
 */
export function seedLibraries({ random, now }: Schedule): () => void {
  const draws = random.fork('blinding')
  const before = Object.getOwnPropertyDescriptor(crypto, 'getRandomValues')
  const poisoned: (into: Uint8Array<ArrayBuffer>) => Uint8Array = crypto.getRandomValues.bind(crypto)
  const value = (into: Uint8Array<ArrayBuffer>): Uint8Array => {
    if (!isLibrary()) return poisoned(into)
    into.set(draws.bytes(into.length))
    return into
  }
  Object.defineProperty(crypto, 'getRandomValues', { value, configurable: true, writable: true })
  const Poisoned = globalThis.Date
  globalThis.Date = new Proxy(Poisoned, {
    construct: (target, given: unknown[], self: unknown) =>
      Reflect.construct(target, given.length === 0 && isLibrary() ? [now()] : given, self as typeof Date) as Date,
  })
  return () => {
    globalThis.Date = Poisoned
    if (before) Object.defineProperty(crypto, 'getRandomValues', before)
    else Reflect.deleteProperty(crypto, 'getRandomValues')
  }
}

/** Whether whoever called the caller is no file of ours; the files of the pinned release lie in a cache below node_modules. */
function isLibrary(): boolean {
  const caller =
    new Error().stack
      ?.split('\n')
      .slice(3)
      .find((frame) => !frame.includes('node:')) ?? ''
  return caller.includes('node_modules') && !caller.includes('node_modules/.cache/')
}
