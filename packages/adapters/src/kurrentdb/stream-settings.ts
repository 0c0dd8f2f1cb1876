import { eventTypeFilter, type Filter, FORWARDS, type ReadAllOptions, START, streamNameFilter } from '@kurrent/kurrentdb-client'
import type { SchemaFault } from '../shared/schema-check.ts'
import { type KurrentConnection, openConnection } from './connection.ts'
import type { KurrentSettings } from './connection-string.ts'

/** Metadata settings that make the server drop the events of a stream, or hide them only from readers of the stream. */
const HIDING_SETTINGS = ['"$maxCount"', '"$maxAge"', '"$tb"']
const METADATA_PREFIX = '$$'
/** The type of the last event of a stream that was deleted for good. */
const DELETED = '$streamDeleted'
/** A long timeout, because the check reads the whole log. */
const TIMEOUT_MS = 3_600_000
// The client sends the filter to the server, although the type of these options lacks it.
const READ: ReadAllOptions & { filter?: Filter } = { fromPosition: START, direction: FORWARDS, requiresLeader: true }

/**
 * Finds the first stream that ever had a setting to drop or hide its events, and the first deleted stream. A reader of the log
 * still finds events that a reader of the stream misses. @throws Fault if the server does not answer
 */
export async function findKurrentSettingsFaults(settings: KurrentSettings): Promise<readonly SchemaFault[]> {
  const server = openConnection(settings, TIMEOUT_MS)
  try {
    return [...(await findHiddenStream(server)), ...(await findDeletedStream(server))]
  } finally {
    await server.close()
  }
}

const findHiddenStream = ({ call }: KurrentConnection): Promise<readonly SchemaFault[]> =>
  call('a read of the metadata of streams', async ({ client, reader }) => {
    // Two dollars, then the name of a stream that does not belong to the server.
    const options = { ...READ, filter: streamNameFilter({ regex: '^\\$\\$[^$]' }), ...reader }
    for await (const { event } of client.readAll(options)) {
      if (!event?.streamId.startsWith(METADATA_PREFIX)) continue
      const text = event.data instanceof Uint8Array ? Buffer.from(event.data).toString('utf8') : JSON.stringify(event.data)
      const setting = HIDING_SETTINGS.find((name) => text.includes(name))
      const stream = event.streamId.slice(METADATA_PREFIX.length)
      if (setting !== undefined)
        return [{ stream, revision: 0, what: `the server was told by ${setting} to drop or hide events of this stream` }]
    }
    return []
  })

const findDeletedStream = ({ call }: KurrentConnection): Promise<readonly SchemaFault[]> =>
  call('a search for deleted streams', async ({ client, reader }) => {
    const options = { ...READ, filter: eventTypeFilter({ prefixes: [DELETED] }), ...reader }
    for await (const { event } of client.readAll(options)) {
      if (event?.type !== DELETED || event.streamId.startsWith('$')) continue
      return [{ stream: event.streamId, revision: 0, what: 'the stream was deleted: nobody can read it, or append to it' }]
    }
    return []
  })
