/** A long deadline for contract suites, because real nodes are slow. */
const DEADLINE_MS = 60_000

/** Waits until `get` returns a value. @throws Error with the description after the deadline */
export async function waitForValue<T>(description: string, get: () => Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + DEADLINE_MS
  for (;;) {
    const value = await get()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`timed out: ${description}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
