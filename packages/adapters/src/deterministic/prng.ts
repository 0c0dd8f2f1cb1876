import { hash } from 'node:crypto'

/** A generator of random values that depend only on a seed. */
export type Prng = {
  /** A number of the half-open range [0, 1). */
  readonly fraction: () => number
  /** An integer from `least` to `most`, both inclusive. */
  readonly between: (least: number, most: number) => number
  readonly chance: (rate: number) => boolean
  /** @throws RangeError for an empty list */
  readonly pick: <T>(list: readonly T[]) => T
  readonly bytes: (count: number) => Buffer
  /**
   * Creates an independent generator from the seed and the name. Values drawn elsewhere do not affect the fork, so an extra value
   * in one place does not change others. A second fork of a name restarts its sequence, so a user keeps its fork.
   */
  readonly fork: (name: string) => Prng
}

export function createPrng(seed: string): Prng {
  const next = xoshiro128(seed)
  const fraction = (): number => next() / 2 ** 32
  return {
    fraction,
    between: (least, most) => least + Math.floor(fraction() * (most - least + 1)),
    // A rate of 0 draws no value, because most faults are off in most runs.
    chance: (rate) => rate > 0 && fraction() < rate,
    pick(list) {
      const picked = list[Math.floor(fraction() * list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => next() & 0xff)),
    fork: (name) => createPrng(`${seed}/${name}`),
  }
}

/** xoshiro128**, in 32-bit words. The initial state is a hash of the seed, so that similar seeds give unrelated words. */
function xoshiro128(seed: string): () => number {
  const state = new Uint32Array(new Uint8Array(hash('sha256', seed, 'buffer').subarray(0, 16)).buffer)
  const at = (index: number): number => state[index] ?? 0
  return () => {
    const word = Math.imul(rotateLeft(Math.imul(at(1), 5), 7), 9) >>> 0
    const shifted = at(1) << 9
    state[2] = at(2) ^ at(0)
    state[3] = at(3) ^ at(1)
    state[1] = at(1) ^ at(2)
    state[0] = at(0) ^ at(3)
    state[2] = at(2) ^ shifted
    state[3] = rotateLeft(at(3), 11)
    return word
  }
}

const rotateLeft = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits))

/** Caches forks by name, so that each name continues its own sequence. */
export function createForkCache(prng: Prng): (name: string) => Prng {
  const cache = new Map<string, Prng>()
  return (name) => {
    const fork = cache.get(name) ?? prng.fork(name)
    cache.set(name, fork)
    return fork
  }
}
