const MAX_RECENT_STEPS = 400

/** The executed steps: a running hash that identifies a run, and the latest steps as text. */
export type ExecutionTrace = {
  readonly record: (at: number, label: string) => void
  readonly hash: () => string
  /** The last steps, oldest first: `<virtual ms> <label>`. */
  readonly recent: () => readonly string[]
}

export function createExecutionTrace(): ExecutionTrace {
  let [high, low] = [0x811c9dc5, 0x01000193]
  const ring: string[] = []
  let steps = 0
  // A hash that is not cryptographic suffices (two variants of FNV-1a), because runs are never forged.
  const mix = (word: number): void => {
    high = Math.imul(high ^ word, 0x01000193)
    low = Math.imul(low ^ (word + (high >>> 13)), 0x85ebca6b)
  }
  return {
    record(at, label) {
      mix(at)
      for (let index = 0; index < label.length; index++) mix(label.charCodeAt(index))
      ring[steps++ % MAX_RECENT_STEPS] = `${at} ${label}`
    },
    hash: () => [high, low].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(''),
    recent: () =>
      steps <= MAX_RECENT_STEPS
        ? [...ring]
        : [...ring.slice(steps % MAX_RECENT_STEPS), ...ring.slice(0, steps % MAX_RECENT_STEPS)],
  }
}
