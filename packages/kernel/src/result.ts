/**
 * Three kinds of "no" (ARCHITECTURE, rules): a refusal is returned as data, a fault is thrown and tried again,
 * a bug asserts and stops its key.
 */

/** The outside world did not answer as it should; the same call may succeed later. */
export class Fault extends Error {
  override readonly name = 'Fault'
}

/** Something that cannot be. It is never tried again by itself: it shows, and waits for a fix. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

/** Asserts what must hold if the code is right. @throws Bug */
export function must(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message)
}

/** For the default of a switch over a union: the compiler proves that it is never reached. */
export function never(value: never): never {
  throw new Bug(`unexpected ${JSON.stringify(value)}`)
}
