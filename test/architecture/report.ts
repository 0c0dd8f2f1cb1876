/** Fails with one line for each breach: where, what, and how to mend it. */
export function expectNone(breaches: readonly string[]): void {
  if (breaches.length === 0) return
  const error = new Error(`${breaches.length} to mend:\n${breaches.map((breach) => `  ${breach}`).join('\n')}`)
  delete error.stack // the reader needs the list, not the place in this file
  throw error
}
