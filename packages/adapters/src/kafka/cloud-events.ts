import type { BusMessage } from '@penstock/ports/bus.ts'
import { deriveMessageSpanId } from '@penstock/runtime/observability/trace-ids.ts'
import type { IHeaders } from 'kafkajs'

/** Our headers that have a standard CloudEvents attribute. */
const attributeByHeader: Readonly<Record<string, string>> = { type: 'ce_type', stream: 'ce_subject' }
const headerByAttribute = new Map(Object.entries(attributeByHeader).map(([header, attribute]) => [attribute, header]))
/** Attributes for external readers. Decoding drops them, because they repeat other data of the message. */
const derivedAttributes = new Set(['ce_specversion', 'ce_id', 'ce_source', 'ce_time', 'ce_partitionkey', 'content-type'])
/** Headers that keep their names, as W3C Trace Context requires. */
const passedThrough = new Set(['traceparent', 'tracestate', 'baggage'])
/** Prefix of the type of a message without a type header; no fact type contains a dot. */
const FALLBACK_TYPE_PREFIX = 'penstock.'

/**
 * Encodes a message in the binary mode of CloudEvents 1.0 for Kafka. The body is the data. Our headers are extension attributes
 * (revision, previous, position, kind, trace).
 * @param source the publisher, as a path
 * @param at the time of the publish, in ms since 1970
 */
export function toCloudEvent(message: BusMessage, source: string, at: number): Record<string, string> {
  const { id, key, headers } = message
  const event: Record<string, string> = {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: `${FALLBACK_TYPE_PREFIX}${headers['kind'] ?? 'message'}`,
    ce_time: new Date(at).toISOString(),
    ce_partitionkey: key,
    'content-type': 'application/json',
  }
  const { trace } = headers
  const parent = trace === undefined ? undefined : buildTraceParent(trace, id)
  if (parent !== undefined) event['traceparent'] = parent
  for (const [name, value] of Object.entries(headers))
    event[passedThrough.has(name) ? name : (attributeByHeader[name] ?? `ce_${name}`)] = value
  return event
}

/** Restores the id and the headers that `toCloudEvent` encoded. */
export function fromCloudEvent(headers: IHeaders): { readonly id: string; readonly headers: Record<string, string> } {
  const messageHeaders: Record<string, string> = {}
  let id = ''
  for (const [name, value] of Object.entries(headers)) {
    // Only known headers are converted from bytes to text.
    if (name === 'ce_id') id = String(value)
    else if (passedThrough.has(name)) messageHeaders[name] = String(value)
    else if (!derivedAttributes.has(name) && name.startsWith('ce_'))
      messageHeaders[headerByAttribute.get(name) ?? name.slice(3)] = String(value)
  }
  if (messageHeaders['type']?.startsWith(FALLBACK_TYPE_PREFIX)) delete messageHeaders['type']
  const { trace, traceparent } = messageHeaders
  if (trace !== undefined && traceparent !== undefined && traceparent === buildTraceParent(trace, id))
    delete messageHeaders['traceparent']
  return { id, headers: messageHeaders }
}

/** Derives a W3C `traceparent` from the trace of an order. A publisher with a span of its own sets the header itself. */
const buildTraceParent = (trace: string, id: string): string | undefined =>
  /^[0-9a-f]{32}$/.test(trace) ? `00-${trace}-${deriveMessageSpanId(id)}-01` : undefined
