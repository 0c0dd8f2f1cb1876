import fc from 'fast-check'
import { expect, test } from 'vitest'
import { computeBackoffMs, withJitter } from './backoff.ts'

const randomBytes = (...bytes: number[]) => ({ random: () => Uint8Array.from(bytes) })
const byte = fc.integer({ min: 0, max: 255 })

test('a jittered wait is at most the given wait, and at least half of that wait', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), byte, byte, (ms, high, low) => {
      const wait = withJitter(ms, randomBytes(high, low))
      expect(Number.isInteger(wait)).toBe(true)
      expect(wait).toBeLessThanOrEqual(ms)
      expect(wait).toBeGreaterThanOrEqual(ms / 2)
    }),
  )
})

test('the random number shortens the wait linearly, from the full wait to half of it', () => {
  expect(withJitter(1000, randomBytes(0, 0))).toBe(1000)
  expect(withJitter(1000, randomBytes(128, 0))).toBe(750)
  expect(withJitter(1000, randomBytes(255, 255))).toBe(501)
})

test('waits double from the first wait up to the maximum', () => {
  const waits = [0, 1, 2, 3, 7, 1_000_000].map((tries) => computeBackoffMs(tries, randomBytes(0, 0), 50, 5000))
  expect(waits).toEqual([50, 100, 200, 400, 5000, 5000])
})
