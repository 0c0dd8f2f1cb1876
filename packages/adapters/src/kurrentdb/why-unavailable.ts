import type { KurrentDBClient } from '@kurrent/kurrentdb-client'
import { within } from './within.ts'

/** Protected in the types only. */
type Capable = { readonly capabilities: Promise<unknown> }

const ASK_MS = 1000

/**
 * The half of the client that reads says "unavailable" and nothing more, of a certificate that is not trusted as of a server
 * that is not there. The other half, asked what the server offers, tells the reason.
 */
export async function whyUnavailable(client: KurrentDBClient, server: string): Promise<string> {
  try {
    await within(ASK_MS, { method: 'a question for what it offers', server }, (client as unknown as Capable).capabilities)
    return 'the server can be reached, and did not serve this; it may be starting, or electing a leader'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
