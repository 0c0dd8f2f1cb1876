import { hash } from 'node:crypto'

/** Choices that follow from a seed alone. */
export type Random = {
  /** From 0 up to, not including, 1. */
  readonly fraction: () => number
  /** A whole number between both, inclusive. */
  readonly between: (least: number, most: number) => number
  readonly chance: (rate: number) => boolean
  /** @throws RangeError for an empty list */
  readonly pick: <T>(list: readonly T[]) => T
  readonly bytes: (count: number) => Buffer
  /**
   * A source of its own, made from this one's seed and the name and not from what was drawn so far: a draw more in one
   * place shifts no other. The same name begins anew, so whoever draws for long keeps its fork.
   */
  readonly fork: (name: string) => Random
}

export function random(seed: string): Random {
  const next = words(seed)
  const fraction = (): number => next() / 2 ** 32
  return {
    fraction,
    between: (least, most) => least + Math.floor(fraction() * (most - least + 1)),
    // Nothing is drawn for what never happens: most faults are off in most runs.
    chance: (rate) => rate > 0 && fraction() < rate,
    pick(list) {
      const picked = list[Math.floor(fraction() * list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => next() & 0xff)),
    fork: (name) => random(`${seed}/${name}`),
  }
}

/** xoshiro128**: whole 32-bit words. Its state is a hash, so that seeds that look alike have nothing in common. */
function words(seed: string): () => number {
  const state = new Uint32Array(new Uint8Array(hash('sha256', seed, 'buffer').subarray(0, 16)).buffer)
  const at = (index: number): number => state[index] ?? 0
  return () => {
    const word = Math.imul(rotated(Math.imul(at(1), 5), 7), 9) >>> 0
    const shifted = at(1) << 9
    state[2] = at(2) ^ at(0)
    state[3] = at(3) ^ at(1)
    state[1] = at(1) ^ at(2)
    state[0] = at(0) ^ at(3)
    state[2] = at(2) ^ shifted
    state[3] = rotated(at(3), 11)
    return word
  }
}

const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits))

/** Forks by name, each made once, so that every name draws on from where it was. */
export function forks(draws: Random): (name: string) => Random {
  const made = new Map<string, Random>()
  return (name) => {
    const fork = made.get(name) ?? draws.fork(name)
    made.set(name, fork)
    return fork
  }
}
