import { eventTypeFilter, type Filter, FORWARDS, type ReadAllOptions, START, streamNameFilter } from '@kurrent/kurrentdb-client'
import type { TableFault } from '../shared/table-fault.ts'
import { type Connection, connection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'

/** Of a stream's metadata: settings by which the server drops its events, or hides them from readers of the stream alone. */
const HIDING = ['"$maxCount"', '"$maxAge"', '"$tb"']
const METADATA_OF = '$$'
/** What a server writes as a stream's last event when it is deleted for good. */
const DELETED = '$streamDeleted'
/** It looks through the whole log. */
const TIMEOUT_MS = 3_600_000
// The filter goes through to the server, though the type of these options does not name it.
const READ: ReadAllOptions & { filter?: Filter } = { fromPosition: START, direction: FORWARDS, requiresLeader: true }

/**
 * Streams whose events the server was told to drop or to hide, now or before, and streams that were deleted: the first of each.
 * A reader of the log still finds what a reader of the stream no longer does. @throws Fault where the server does not answer
 */
export async function kurrentSettingsFaults(settings: KurrentSettings): Promise<readonly TableFault[]> {
  const server = connection(settings, TIMEOUT_MS)
  try {
    return [...(await hiddenStream(server)), ...(await deletedStream(server))]
  } finally {
    await server.close()
  }
}

const hiddenStream = ({ call }: Connection): Promise<readonly TableFault[]> =>
  call('a look at the metadata of streams', async ({ client, reader }) => {
    // Two dollars, and the name of a stream that is not the server's own.
    const options = { ...READ, filter: streamNameFilter({ regex: '^\\$\\$[^$]' }), ...reader }
    for await (const { event } of client.readAll(options)) {
      if (!event?.streamId.startsWith(METADATA_OF)) continue
      const text = event.data instanceof Uint8Array ? Buffer.from(event.data).toString('utf8') : JSON.stringify(event.data)
      const setting = HIDING.find((name) => text.includes(name))
      const stream = event.streamId.slice(METADATA_OF.length)
      if (setting !== undefined)
        return [{ stream, revision: 0, what: `the server was told by ${setting} to drop or hide events of this stream` }]
    }
    return []
  })

const deletedStream = ({ call }: Connection): Promise<readonly TableFault[]> =>
  call('a look for deleted streams', async ({ client, reader }) => {
    const options = { ...READ, filter: eventTypeFilter({ prefixes: [DELETED] }), ...reader }
    for await (const { event } of client.readAll(options)) {
      if (event?.type !== DELETED || event.streamId.startsWith('$')) continue
      return [{ stream: event.streamId, revision: 0, what: 'the stream was deleted: nobody can read it, or append to it' }]
    }
    return []
  })
