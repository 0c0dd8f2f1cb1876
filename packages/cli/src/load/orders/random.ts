/** Returns a random number, at least 0 and below 1. */
export type RandomGenerator = () => number

/** A generator (mulberry32) that gives the same numbers for the same seed, so that a run can be repeated. */
export function createRandomGenerator(seed: number): RandomGenerator {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
