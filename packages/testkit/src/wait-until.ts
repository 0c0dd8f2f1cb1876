/** Polls until the condition holds. @throws Error with `what` after the timeout */
export async function waitUntil<T>(
  what: string,
  read: () => T | Promise<T>,
  timeoutMs = 45_000,
  everyMs = 5,
): Promise<NonNullable<T>> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (value) return value
    if (performance.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
