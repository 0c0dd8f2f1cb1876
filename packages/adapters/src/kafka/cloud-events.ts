import { hash } from 'node:crypto'
import type { BusMessage } from '@penstock/ports/bus.ts'
import type { IHeaders } from 'kafkajs'

/** Headers that CloudEvents has a name for. */
const attributeOf: Readonly<Record<string, string>> = { type: 'ce_type', stream: 'ce_subject' }
const headerOf = new Map(Object.entries(attributeOf).map(([header, attribute]) => [attribute, header]))
/** Made for readers outside; nothing of the message is in them that is not elsewhere. */
const derived = new Set(['ce_specversion', 'ce_id', 'ce_source', 'ce_time', 'ce_partitionkey', 'content-type'])
/** Carried under their own names, as W3C Trace Context wants them. */
const carried = new Set(['traceparent', 'tracestate', 'baggage'])
/** The type of a message that has none of its own; no type of a fact has a dot. */
const PLAIN_TYPE = 'penstock.'

/**
 * A message in the binary mode of CloudEvents 1.0 for Kafka: the body is the data, headers of ours are extension
 * attributes (revision, previous, position, kind, trace).
 * @param source who publishes, as a path
 */
export function toCloudEvent(message: BusMessage, source: string, at: number): Record<string, string> {
  const { id, key, headers } = message
  const event: Record<string, string> = {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: `${PLAIN_TYPE}${headers['kind'] ?? 'message'}`,
    ce_time: new Date(at).toISOString(),
    ce_partitionkey: key,
    'content-type': 'application/json',
  }
  const { trace } = headers
  const parent = trace === undefined ? undefined : traceParent(trace, id)
  if (parent !== undefined) event['traceparent'] = parent
  for (const [name, value] of Object.entries(headers))
    event[carried.has(name) ? name : (attributeOf[name] ?? `ce_${name}`)] = value
  return event
}

/** The headers of the message as they were given to `toCloudEvent`. */
export function fromCloudEvent(headers: IHeaders): { readonly id: string; readonly headers: Record<string, string> } {
  const own: Record<string, string> = {}
  let id = ''
  for (const [name, value] of Object.entries(headers)) {
    // Bytes become text only where somebody reads them.
    if (name === 'ce_id') id = String(value)
    else if (carried.has(name)) own[name] = String(value)
    else if (!derived.has(name) && name.startsWith('ce_')) own[headerOf.get(name) ?? name.slice(3)] = String(value)
  }
  if (own['type']?.startsWith(PLAIN_TYPE)) delete own['type']
  const { trace, traceparent } = own
  if (trace !== undefined && traceparent !== undefined && traceparent === traceParent(trace, id)) delete own['traceparent']
  return { id, headers: own }
}

/**
 * The trace of an order, for readers that know W3C Trace Context. A publisher that has a span of its own gives its
 * `traceparent`, and that one is kept.
 */
const traceParent = (trace: string, id: string): string | undefined =>
  /^[0-9a-f]{32}$/.test(trace) ? `00-${trace}-${hash('sha256', id).slice(0, 16)}-01` : undefined
