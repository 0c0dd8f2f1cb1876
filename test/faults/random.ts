/** Numbers that follow from a seed alone. */
export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number between both, inclusive. */
  between(least: number, most: number): number
  chance(share: number): boolean
  pick<T>(list: readonly T[]): T
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  // mulberry32: 32 bits of state are plenty for choices
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (share) => next() < share,
    pick(list) {
      const picked = list[Math.floor(next() * list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
  }
}

/** A seed for each round, so that a round's choices do not hang on how many the one before made. */
export const seedOf = (seed: number, round: number): number => Math.imul(seed ^ (round * 0x9e3779b1), 0x85ebca6b) >>> 0
