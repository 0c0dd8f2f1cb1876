const REMEMBERED = 400

/** What ran, as a running hash to compare runs by, and the last of it to read. */
export type Trace = {
  readonly note: (at: number, label: string) => void
  readonly hash: () => string
  /** The last steps, oldest first: `<virtual ms> <label>`. */
  readonly recent: () => readonly string[]
}

export function trace(): Trace {
  let [high, low] = [0x811c9dc5, 0x01000193]
  const ring: string[] = []
  let steps = 0
  // FNV-1a in two lanes: two runs that differ must not look alike, and nobody tries to forge one.
  const mix = (word: number): void => {
    high = Math.imul(high ^ word, 0x01000193)
    low = Math.imul(low ^ (word + (high >>> 13)), 0x85ebca6b)
  }
  return {
    note(at, label) {
      mix(at)
      for (let index = 0; index < label.length; index++) mix(label.charCodeAt(index))
      ring[steps++ % REMEMBERED] = `${at} ${label}`
    },
    hash: () => [high, low].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(''),
    recent: () => (steps <= REMEMBERED ? [...ring] : [...ring.slice(steps % REMEMBERED), ...ring.slice(0, steps % REMEMBERED)]),
  }
}
