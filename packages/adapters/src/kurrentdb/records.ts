import { type AllStreamResolvedEvent, binaryEvent, type EventData, type ResolvedEvent } from '@kurrent/kurrentdb-client'
import { Bug, must } from '@penstock/kernel/result.ts'
import type { NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'

/**
 * Stands before the JSON text of the metadata, as in JSON text sequences (RFC 7464). The client parses metadata that
 * are JSON, and then their bytes are lost; with this they are none, and come back as they were.
 */
const RECORD_SEPARATOR = '\u001e'
/** What older servers, or reads that know none, give as a position. */
const NO_POSITION = 2n ** 63n

/** Texts go as bytes: what the client takes for JSON it writes and reads in its own way. */
export const toEventData = ({ id, type, data, meta }: NewEvent): EventData =>
  binaryEvent({ id, type, data: Buffer.from(data), metadata: Buffer.from(RECORD_SEPARATOR + meta) })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Events of the server itself, of deleted streams and links, wherever they are. */
export const isForeign = ({ event }: ResolvedEvent | AllStreamResolvedEvent): boolean =>
  !event || event.type.startsWith('$') || event.streamId.startsWith('$')

/** @throws Bug where somebody else wrote the event, or the server is too old */
export function toStored({ event }: ResolvedEvent | AllStreamResolvedEvent): StoredEvent {
  if (!event) throw new Bug('a link instead of an event')
  const { id, type, streamId: stream, revision, data, metadata, position } = event
  const place = `${stream}@${revision}`
  must(position && position.commit < NO_POSITION, `KurrentDB gives ${place} no position; versions from 22.6 on do`)
  // Readers of the log pass over these, so nobody else may take them for facts.
  must(!type.startsWith('$'), `${place} was not written by Penstock`)
  must(data instanceof Uint8Array && metadata instanceof Uint8Array, `${place} was not written by Penstock`)
  const meta = utf8.decode(metadata)
  must(meta.startsWith(RECORD_SEPARATOR), `${place} was not written by Penstock`)
  return {
    id,
    type,
    stream,
    revision: Number(revision),
    position: position.commit,
    data: utf8.decode(data),
    meta: meta.slice(RECORD_SEPARATOR.length),
  }
}
