const HOUR_MS = 3_600_000

/**
 * A wall clock that jumps an hour ahead and back at every reading, as if somebody set it all the time: what is measured in
 * spite of it is measured by the monotonic clock.
 */
export function jumpingWall(now: () => number): () => number {
  let isAhead = false
  return () => {
    isAhead = !isAhead
    return now() + (isAhead ? HOUR_MS : -HOUR_MS)
  }
}
