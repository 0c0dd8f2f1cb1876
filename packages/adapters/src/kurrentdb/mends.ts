import type { KurrentDBClient } from '@kurrent/kurrentdb-client'

type Handling = { handleError: (this: void, ...broken: readonly unknown[]) => Promise<void> }

/**
 * A client looks after its broken connections with nobody waiting for the outcome. When a call of an earlier connection
 * breaks while it cannot find any node of its cluster, that fails, and a rejection that nobody catches ends the process.
 */
export function mended(client: KurrentDBClient): KurrentDBClient {
  const handling = client as unknown as Handling // a property of every client, though only protected
  const inner = handling.handleError
  handling.handleError = (...broken) => inner(...broken).catch(() => undefined)
  return client
}
