/** Encodes a length below 2^14 as a varint. */
const encodeLength = (bytes: Uint8Array): Buffer =>
  bytes.length < 0x80 ? Buffer.of(bytes.length) : Buffer.of((bytes.length & 0x7f) | 0x80, bytes.length >> 7)
const encodeField = (field: number, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(field), encodeLength(bytes), bytes])
const encodeText = (field: number, value: string): Buffer => encodeField(field, Buffer.from(value))

type Operation = readonly [entity: string, ...actions: string[]]

/** Encodes a macaroon like lnd: a location, the identifier, no caveats, a signature. */
export function encodeMacaroon(...operations: readonly Operation[]): Buffer {
  const listed = operations.map(([entity, ...actions]) =>
    encodeField(0x1a, Buffer.concat([encodeText(0x0a, entity), ...actions.map((action) => encodeText(0x12, action))])),
  )
  const identifier = Buffer.concat([Buffer.of(3), encodeField(0x0a, Buffer.alloc(16)), encodeText(0x12, '0'), ...listed])
  return Buffer.concat([
    Buffer.of(2),
    encodeText(1, 'lnd'),
    encodeField(2, identifier),
    Buffer.of(0, 0),
    encodeField(6, Buffer.alloc(32)),
  ])
}
