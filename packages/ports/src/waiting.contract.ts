/** For contract suites: real nodes take their time. */
const DEADLINE_MS = 20_000

/** Waits until there is something; the loop ends with a sentence about what never came. */
export async function until<T>(what: string, get: () => Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + DEADLINE_MS
  for (;;) {
    const value = await get()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
