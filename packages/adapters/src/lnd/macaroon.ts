/** Reads what a macaroon allows (libmacaroons' binary form, version 2; lnd's identifier is a bakery's, version 3). */

const VERSION = 2
const FIELD = { end: 0, identifier: 2 }
const BAKERY_VERSION = 3
/** In the identifier: the field of an operation; in it: its entity and its actions (protocol buffers). */
const OPERATION = 3
const ENTITY = 1
const ACTION = 2

/**
 * @param bytes of the file that lnd or `bake` wrote
 * @returns `entity:action`, or `uri:/service/call`; caveats, which only take away, are not looked at
 * @throws RangeError where it is no macaroon of lnd
 */
export function allowances(bytes: Uint8Array): readonly string[] {
  const fail = (): never => {
    throw new RangeError('this is no macaroon of lnd')
  }
  if (bytes[0] !== VERSION) fail()
  let at = 1
  while (at < bytes.length) {
    const [field, afterField] = varint(bytes, at)
    if (field === FIELD.end) break
    const [length, from] = varint(bytes, afterField)
    at = from + length
    if (field !== FIELD.identifier) continue
    const identifier = bytes.subarray(from, at)
    return identifier[0] === BAKERY_VERSION ? operations(identifier.subarray(1)) : fail()
  }
  return fail()
}

const operations = (message: Uint8Array): readonly string[] =>
  fields(message).flatMap(([field, value]) => {
    if (field !== OPERATION) return []
    const parts = fields(value).map(([part, text]) => [part, new TextDecoder().decode(text)] as const)
    const entity = parts.find(([part]) => part === ENTITY)?.[1] ?? ''
    return parts.flatMap(([part, action]) => (part === ACTION ? `${entity}:${action}` : []))
  })

/** Every field here is of the kind that says its length. */
function fields(message: Uint8Array): readonly (readonly [field: number, value: Uint8Array])[] {
  const found: (readonly [number, Uint8Array])[] = []
  for (let at = 0; at < message.length;) {
    const [tag, afterTag] = varint(message, at)
    const [length, from] = varint(message, afterTag)
    found.push([tag >> 3, message.subarray(from, from + length)])
    at = from + length
  }
  return found
}

function varint(bytes: Uint8Array, at: number): readonly [value: number, next: number] {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    if (byte === undefined || shift > 28) throw new RangeError('this is no macaroon of lnd')
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return [value, at]
  }
}
