import { randomBytes } from 'node:crypto'
import type { Ids } from '@penstock/ports/clock.ts'

const POOL_BYTES = 4096
const COUNTER_BITS = 12

/**
 * UUIDv7 (RFC 9562): milliseconds, then a counter in the 12 bits of rand_a, then 62 random bits. Within one process ids
 * grow strictly: the counter starts at random in its lower half each millisecond, and when it is used up the clock is
 * taken to be one millisecond on.
 */
export function systemIds(now: () => number = Date.now, draw: (bytes: number) => Buffer = randomBytes): Ids {
  let lastMs = 0
  let counter = 0
  let pool: Buffer = Buffer.alloc(0)
  let used = 0

  // Random bytes are drawn in larger pieces: one call for each id costs more than all the rest.
  const take = (bytes: number): Buffer => {
    if (used + bytes > pool.length) {
      pool = draw(POOL_BYTES)
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }

  return {
    uuid() {
      const ms = now()
      if (ms > lastMs) {
        lastMs = ms
        counter = take(2).readUInt16BE() & ((1 << (COUNTER_BITS - 1)) - 1)
      } else if (++counter >= 1 << COUNTER_BITS) {
        lastMs++
        counter = 0
      }
      const time = lastMs.toString(16).padStart(12, '0')
      const sequence = counter.toString(16).padStart(3, '0')
      const tail = take(8)
      const variant = ((tail[0] ?? 0) & 0x3f) | 0x80
      const rest = variant.toString(16) + tail.toString('hex', 1)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${rest.slice(0, 4)}-${rest.slice(4)}`
    },
    random: (bytes) => new Uint8Array(draw(bytes)),
  }
}
