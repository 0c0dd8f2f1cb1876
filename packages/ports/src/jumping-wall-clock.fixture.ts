const HOUR_MS = 3_600_000

/** A wall clock that jumps an hour ahead or back at every reading, to detect code that measures durations by it. */
export function createJumpingWallClock(now: () => number): () => number {
  let isAhead = false
  return () => {
    isAhead = !isAhead
    return now() + (isAhead ? HOUR_MS : -HOUR_MS)
  }
}
