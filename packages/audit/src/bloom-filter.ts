/** A filter of 2 ** 24 bits takes 2 MiB. With a million names in it, about 1 of 80 new names is reported as known. */
const BITS = 24
const MASK = 2 ** BITS - 1

/**
 * Creates a Bloom filter: a set of names in memory of fixed size. A negative answer is certain, and the caller has to check
 * a positive one. An attacker who creates colliding names only causes more checks.
 */
export function createBloomFilter() {
  const words = new Uint32Array(2 ** BITS / 32)
  /** @returns whether the bit was set before */
  const setBit = (bitIndex: number): boolean => {
    const [word, bit] = [bitIndex >>> 5, 1 << (bitIndex & 31)]
    const before = words[word] ?? 0
    words[word] = before | bit
    return (before & bit) !== 0
  }
  return {
    /** Adds a name. @returns whether the name may have been added before */
    add(name: string): boolean {
      // The first hash is FNV-1a. The second hash uses other constants.
      let [one, other] = [0x811c9dc5, 0x9e3779b9]
      for (let index = 0; index < name.length; index++) {
        const unit = name.charCodeAt(index)
        one = Math.imul(one ^ unit, 0x01000193)
        other = Math.imul(other + unit, 0x85ebca6b) ^ (other >>> 13)
      }
      const [first, second] = [setBit(mixHash(one)), setBit(mixHash(other))]
      return first && second
    },
  }
}

/** Mixes the upper bits into the lower bits, because the upper bits of the hashes are better distributed. */
const mixHash = (value: number): number => (value ^ (value >>> 15)) & MASK
