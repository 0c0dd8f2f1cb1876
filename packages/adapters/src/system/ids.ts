import { randomBytes } from 'node:crypto'
import type { Ids } from '@penstock/ports/clock.ts'

const POOL_BYTES = 4096
const COUNTER_BITS = 12

/**
 * UUIDv7 (RFC 9562): milliseconds, a counter in the 12 bits of rand_a, and 62 random bits. Ids increase strictly within one
 * process. The counter starts at a random value in its lower half each millisecond. When it overflows, the ids use the next
 * millisecond.
 */
export function systemIds(now: () => number = Date.now, readRandom: (bytes: number) => Buffer = randomBytes): Ids {
  let lastMs = 0
  let counter = 0
  let pool: Buffer = Buffer.alloc(0)
  let used = 0

  // Random bytes are read in larger blocks, because one call per id costs more than all the rest.
  const nextBytes = (bytes: number): Buffer => {
    if (used + bytes > pool.length) {
      pool = readRandom(POOL_BYTES)
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
        counter = nextBytes(2).readUInt16BE() & ((1 << (COUNTER_BITS - 1)) - 1)
      } else if (++counter >= 1 << COUNTER_BITS) {
        lastMs++
        counter = 0
      }
      const time = lastMs.toString(16).padStart(12, '0')
      const sequence = counter.toString(16).padStart(3, '0')
      const tail = nextBytes(8)
      const variant = ((tail[0] ?? 0) & 0x3f) | 0x80
      const rest = variant.toString(16) + tail.toString('hex', 1)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${rest.slice(0, 4)}-${rest.slice(4)}`
    },
    random: (bytes) => new Uint8Array(readRandom(bytes)),
  }
}
