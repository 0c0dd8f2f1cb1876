export type WindowedMinimum = {
  add(now: number, value: number): void
  /** @returns the minimum of the last one to two windows, or of the last window with values; undefined without values */
  read(now: number): number | undefined
}

/** Tracks the minimum of recent values, as BBR tracks the time of a round trip (draft-ietf-ccwg-bbr, "BBR.min_rtt"). */
export function createWindowedMinimum(windowMs: number): WindowedMinimum {
  let since = 0
  let current: number | undefined
  let previous: number | undefined

  function rotate(now: number): void {
    const windows = Math.floor((now - since) / windowMs)
    if (windows <= 0) return
    since += windows * windowMs
    if (current === undefined) return
    previous = current
    current = undefined
  }

  return {
    add(now, value) {
      rotate(now)
      current = Math.min(current ?? value, value)
    },
    read(now) {
      rotate(now)
      return current === undefined || previous === undefined ? (current ?? previous) : Math.min(current, previous)
    },
  }
}
