/**
 * Three kinds of failure (ARCHITECTURE, rules). A refusal is returned as data. A fault is thrown, and the call is retried. A
 * bug is thrown by an assertion, and stops the messages of its key.
 */

/** A failure of the outside world; the same call may succeed later. */
export class Fault extends Error {
  override readonly name = 'Fault'
}

/** A violated assertion. It is not retried automatically, because the code or the stored data needs a fix. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

/** Asserts a condition that holds if the code is right. @throws Bug */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message)
}

/** The default of a switch over a union: the compiler proves that no value reaches it. */
export function assertNever(value: never): never {
  // JSON has no bigint.
  throw new Bug(`unexpected ${JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}` : part))}`)
}
