/** 2 MiB: among a million names, one of eighty is taken for one that was here before. */
const BITS = 24
const MASK = 2 ** BITS - 1

/**
 * Remembers names in memory of a fixed size (a Bloom filter): "no" is certain, "perhaps" has to be looked up. Whoever
 * makes names that fall together only causes look-ups.
 */
export function begunNames() {
  const words = new Uint32Array(2 ** BITS / 32)
  /** @returns whether the place was taken */
  const take = (place: number): boolean => {
    const [word, bit] = [place >>> 5, 1 << (place & 31)]
    const before = words[word] ?? 0
    words[word] = before | bit
    return (before & bit) !== 0
  }
  return {
    /** Adds a name. @returns whether it was perhaps here before */
    add(name: string): boolean {
      // FNV-1a, and a second hash beside it.
      let [one, other] = [0x811c9dc5, 0x9e3779b9]
      for (let index = 0; index < name.length; index++) {
        const unit = name.charCodeAt(index)
        one = Math.imul(one ^ unit, 0x01000193)
        other = Math.imul(other + unit, 0x85ebca6b) ^ (other >>> 13)
      }
      const [first, second] = [take(mixed(one)), take(mixed(other))]
      return first && second
    },
  }
}

/** The upper bits are the better ones. */
const mixed = (value: number): number => (value ^ (value >>> 15)) & MASK
