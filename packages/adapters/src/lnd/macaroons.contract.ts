/** Below 2^14. */
const length = (bytes: Uint8Array): Buffer =>
  bytes.length < 0x80 ? Buffer.of(bytes.length) : Buffer.of((bytes.length & 0x7f) | 0x80, bytes.length >> 7)
const part = (field: number, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(field), length(bytes), bytes])
const text = (field: number, value: string): Buffer => part(field, Buffer.from(value))

type Operation = readonly [entity: string, ...actions: string[]]

/** As lnd writes one: a place, the identifier, no caveats, a signature. */
export function macaroonOf(...operations: readonly Operation[]): Buffer {
  const listed = operations.map(([entity, ...actions]) =>
    part(0x1a, Buffer.concat([text(0x0a, entity), ...actions.map((action) => text(0x12, action))])),
  )
  const identifier = Buffer.concat([Buffer.of(3), part(0x0a, Buffer.alloc(16)), text(0x12, '0'), ...listed])
  return Buffer.concat([Buffer.of(2), text(1, 'lnd'), part(2, identifier), Buffer.of(0, 0), part(6, Buffer.alloc(32))])
}
