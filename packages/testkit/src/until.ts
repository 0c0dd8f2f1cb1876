/** Waits for a condition, never for a time: looks often, and gives up loudly. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 10_000,
  everyMs = 5,
): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (performance.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
