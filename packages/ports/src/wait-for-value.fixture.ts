import { waitUntil } from '@penstock/testkit/wait-until.ts'

/** A long deadline for contract suites, because real nodes are slow. */
const DEADLINE_MS = 60_000

/** Waits until `get` returns a value. @throws Error with the description after the deadline */
export async function waitForValue<T>(description: string, get: () => Promise<T | undefined | false>): Promise<T> {
  const read = async () => {
    const value = await get()
    return value === undefined || value === false ? undefined : { value }
  }
  return (await waitUntil(description, read, DEADLINE_MS, 20)).value
}
