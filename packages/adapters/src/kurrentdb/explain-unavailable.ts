import type { KurrentDBClient } from '@kurrent/kurrentdb-client'
import { withKurrentTimeout } from './timeout.ts'

/** The client has this property, but its type declares it protected. */
type WithCapabilities = { readonly capabilities: Promise<unknown> }

const TIMEOUT_MS = 1000

/**
 * Finds the reason of an "unavailable" error. The reading half of the client reports an untrusted certificate and an unreachable
 * server alike. The writing half reports the reason when it requests the capabilities of the server.
 */
export async function explainUnavailable(client: KurrentDBClient, server: string): Promise<string> {
  try {
    await withKurrentTimeout(
      TIMEOUT_MS,
      { method: 'a request for its capabilities', server },
      (client as unknown as WithCapabilities).capabilities,
    )
    return 'the server can be reached, but did not serve this call; it may be starting, or electing a leader'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
