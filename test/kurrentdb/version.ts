import { buildConnectionString } from '@penstock/adapters/kurrentdb/connection-string.ts'
import { KurrentDBClient } from '@kurrent/kurrentdb-client'

/** The client's types declare this property as protected, so this type repeats it. */
type WithCapabilities = { readonly capabilities: Promise<{ readonly serverVersion: string }> }

/** @returns the hosts of the URL without credentials, and the version that the server reports */
export async function readServerVersion(url: string): Promise<{ readonly server: string; readonly version: string }> {
  const { text, server } = buildConnectionString({ url })
  const client = KurrentDBClient.connectionString(text)
  try {
    const { serverVersion } = await (client as unknown as WithCapabilities).capabilities
    return { server, version: `version ${serverVersion}` }
  } finally {
    await client.dispose()
  }
}
