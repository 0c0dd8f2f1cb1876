import { FORWARDS, START, streamNameFilter } from '@kurrent/kurrentdb-client'
import type { TableFault } from '../shared/table-fault.ts'
import { connection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'

/** Of a stream's metadata: settings by which the server drops its events, or hides them from readers of the stream alone. */
const HIDING = ['"$maxCount"', '"$maxAge"', '"$tb"']
const METADATA_OF = '$$'
/** It looks through the whole log. */
const TIMEOUT_MS = 3_600_000

/**
 * Streams whose events the server was told to drop or to hide, now or before: the first of them. A reader of the log still
 * finds what a reader of the stream no longer does. @throws Fault where the server does not answer
 */
export async function kurrentSettingsFaults(settings: KurrentSettings): Promise<readonly TableFault[]> {
  const server = connection(settings, TIMEOUT_MS)
  try {
    return await server.call('a look at the metadata of streams', async ({ client, reader }) => {
      // Two dollars, and the name of a stream that is not the server's own.
      const filter = streamNameFilter({ regex: '^\\$\\$[^$]' })
      const found = client.readAll({ fromPosition: START, direction: FORWARDS, requiresLeader: true, filter, ...reader })
      for await (const { event } of found) {
        if (!event?.streamId.startsWith(METADATA_OF)) continue
        const text = event.data instanceof Uint8Array ? Buffer.from(event.data).toString('utf8') : JSON.stringify(event.data)
        const setting = HIDING.find((name) => text.includes(name))
        const stream = event.streamId.slice(METADATA_OF.length)
        if (setting !== undefined)
          return [{ stream, revision: 0, what: `the server was told by ${setting} to drop or hide events of this stream` }]
      }
      return []
    })
  } finally {
    await server.close()
  }
}
