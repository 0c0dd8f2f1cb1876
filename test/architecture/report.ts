/** Fails with one line for each breach, which says the file, the problem and the fix. */
export function expectNone(breaches: readonly string[]): void {
  if (breaches.length === 0) return
  const error = new Error(`${breaches.length} to fix:\n${breaches.map((breach) => `  ${breach}`).join('\n')}`)
  delete error.stack // the reader needs the list, not a line of this file
  throw error
}
