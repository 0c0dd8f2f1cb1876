import { connectionString } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { KurrentDBClient } from '@kurrent/kurrentdb-client'

/** Protected in the types only. */
type Capable = { readonly capabilities: Promise<{ readonly serverVersion: string }> }

/** @returns the hosts of a url without credentials, and the version that the server tells */
export async function versionOf(url: string): Promise<{ readonly server: string; readonly version: string }> {
  const { text, server } = connectionString({ url })
  const client = KurrentDBClient.connectionString(text)
  try {
    const { serverVersion } = await (client as unknown as Capable).capabilities
    return { server, version: `version ${serverVersion}` }
  } finally {
    await client.dispose()
  }
}
