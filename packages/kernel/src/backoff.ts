/** A source of random bytes; the simulation seeds it. */
export type RandomSource = { random(bytes: number): Uint8Array }

const RANDOM_STEPS = 2 ** 16

/** Shortens a wait randomly by at most half, so that callers that failed together do not retry together. */
export function withJitter(ms: number, source: RandomSource): number {
  const [high = 0, low = 0] = source.random(2)
  return Math.ceil(ms * (1 - (256 * high + low) / (2 * RANDOM_STEPS)))
}

/** Milliseconds to wait before the next try. The waits double from `firstMs` to `maxMs`, and are jittered. */
export const computeBackoffMs = (tries: number, source: RandomSource, firstMs = 50, maxMs = 5000): number =>
  withJitter(Math.min(maxMs, firstMs * 2 ** Math.min(tries, 16)), source)
