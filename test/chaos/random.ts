/** A random number generator whose numbers depend only on its seed. */
export type SeededRandom = {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** A whole number from `min` to `max`, inclusive. */
  between(min: number, max: number): number
  /** True with the probability `share`, from 0 to 1. */
  chance(share: number): boolean
  pick<T>(list: readonly T[]): T
}

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  // The algorithm is mulberry32, whose 32 bits of state suffice for test plans.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (share) => next() < share,
    pick(list) {
      const picked = list[Math.floor(next() * list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
  }
}

/** Derives the seed of a round, so that the choices of a round do not depend on the choices of earlier rounds. */
export const deriveSeed = (seed: number, round: number): number => Math.imul(seed ^ (round * 0x9e3779b1), 0x85ebca6b) >>> 0
