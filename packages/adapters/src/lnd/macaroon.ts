/** Reads the permissions of a macaroon in the binary format 2 of libmacaroons, whose identifier is in the bakery's format 3. */

const VERSION = 2
const FIELD = { end: 0, identifier: 2 }
const BAKERY_VERSION = 3
/** Protocol buffer fields: an operation in the identifier, and the entity and the actions in an operation. */
const OPERATION = 3
const ENTITY = 1
const ACTION = 2

/**
 * @param bytes the content of a file that lnd or `bake` wrote
 * @returns `entity:action` or `uri:/service/call`, without the caveats, which only remove permissions
 * @throws RangeError if the bytes are not an lnd macaroon
 */
export function readMacaroonPermissions(bytes: Uint8Array): readonly string[] {
  const fail = (): never => {
    throw new RangeError('this is not an lnd macaroon')
  }
  if (bytes[0] !== VERSION) fail()
  let offset = 1
  while (offset < bytes.length) {
    const [field, afterField] = readVarint(bytes, offset)
    if (field === FIELD.end) break
    const [length, from] = readVarint(bytes, afterField)
    offset = from + length
    if (field !== FIELD.identifier) continue
    const identifier = bytes.subarray(from, offset)
    return identifier[0] === BAKERY_VERSION ? readOperations(identifier.subarray(1)) : fail()
  }
  return fail()
}

const readOperations = (message: Uint8Array): readonly string[] =>
  readFields(message).flatMap(([field, value]) => {
    if (field !== OPERATION) return []
    const parts = readFields(value).map(([part, text]) => [part, new TextDecoder().decode(text)] as const)
    const entity = parts.find(([part]) => part === ENTITY)?.[1] ?? ''
    return parts.flatMap(([part, action]) => (part === ACTION ? `${entity}:${action}` : []))
  })

/** Every field of this message is length-delimited. */
function readFields(message: Uint8Array): readonly (readonly [field: number, value: Uint8Array])[] {
  const found: (readonly [number, Uint8Array])[] = []
  for (let offset = 0; offset < message.length;) {
    const [tag, afterTag] = readVarint(message, offset)
    const [length, from] = readVarint(message, afterTag)
    found.push([tag >> 3, message.subarray(from, from + length)])
    offset = from + length
  }
  return found
}

function readVarint(bytes: Uint8Array, offset: number): readonly [value: number, next: number] {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[offset++]
    if (byte === undefined || shift > 28) throw new RangeError('this is not an lnd macaroon')
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return [value, offset]
  }
}
