import { type AllStreamResolvedEvent, binaryEvent, type EventData, type ResolvedEvent } from '@kurrent/kurrentdb-client'
import { Bug, assert } from '@penstock/kernel/result.ts'
import type { NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'

/**
 * Prefix of the JSON text of the metadata, as in JSON text sequences (RFC 7464). The client would parse JSON metadata and lose
 * the exact bytes. With the prefix the metadata is not JSON and stays unchanged.
 */
const RECORD_SEPARATOR = '\u001e'
/** The least position that means a missing position, as in answers of older servers. */
const NO_POSITION = 2n ** 63n

/** Writes the texts as bytes, since the client would parse and reformat JSON. */
export const toEventData = ({ id, type, data, meta }: NewEvent): EventData =>
  binaryEvent({ id, type, data: Buffer.from(data), metadata: Buffer.from(RECORD_SEPARATOR + meta) })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether an event belongs to the server or a deleted stream, or is a link. */
export const isForeign = ({ event }: ResolvedEvent | AllStreamResolvedEvent): boolean =>
  !event || event.type.startsWith('$') || event.streamId.startsWith('$')

/** @throws Bug if Penstock did not write the event, or if the server is too old */
export function toStored({ event }: ResolvedEvent | AllStreamResolvedEvent): StoredEvent {
  if (!event) throw new Bug('KurrentDB returned a link instead of an event')
  const { id, type, streamId: stream, revision, data, metadata, position } = event
  const label = `${stream}@${revision}`
  assert(position && position.commit < NO_POSITION, `KurrentDB reported no position of ${label}; use version 22.6 or later`)
  // Readers of the log skip such types, so readers of a stream must not take them for facts.
  assert(!type.startsWith('$'), `${label} was not written by Penstock`)
  assert(data instanceof Uint8Array && metadata instanceof Uint8Array, `${label} was not written by Penstock`)
  const meta = utf8.decode(metadata)
  assert(meta.startsWith(RECORD_SEPARATOR), `${label} was not written by Penstock`)
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
