/** Leases at rest take turns, so that a block costs the same however many channels were ever sold. */
const LEASES_AT_A_TIME = 500
/** Blocks that come faster than this, as on a regression test network, are no reason to look at what is at rest. */
const REST_MS = 5000

type Time = { readonly monotonicMs: () => number; readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> }
/** Instants are those of the monotonic clock. */
type Rest = { readonly lookedAt: number; readonly endsAtHeight: number }

/** Leases that go their way: looked at now and then where there are new blocks, and at once when their last one is there. */
export type Resting = {
  /** It was looked at just now, and nothing but its end is waited for. */
  keep(id: string, endsAtHeight: number): void
  wake(id: string): void
  readonly has: (id: string) => boolean
  /** Forgets those that are none of these. */
  retain(ids: ReadonlySet<string>): void
  /** A block came. */
  see(height: number): void
}

/** @param due told of those to be looked at, the one that was looked at longest ago first */
export function restingLeases(clock: Time, signal: AbortSignal, due: (ids: readonly string[]) => void): Resting {
  const leases = new Map<string, Rest>()
  let block = { height: 0, at: 0 }
  let isWaiting = false

  function tell(): void {
    if (signal.aborted) return
    const unlooked = [...leases].filter(([, { lookedAt }]) => lookedAt < block.at)
    const restedAt = clock.monotonicMs() - REST_MS
    const isDue = ({ lookedAt, endsAtHeight }: Rest): boolean => lookedAt <= restedAt || block.height >= endsAtHeight
    const ids = unlooked.filter(([, rest]) => isDue(rest)).map(([id]) => id)
    due(ids.slice(0, LEASES_AT_A_TIME))
    if (ids.length < unlooked.length) tellLater()
  }

  // No other block may come for long.
  function tellLater(): void {
    if (isWaiting) return
    isWaiting = true
    void clock.sleep(REST_MS, signal).then(() => {
      isWaiting = false
      tell()
    })
  }

  return {
    keep(id, endsAtHeight) {
      leases.delete(id)
      leases.set(id, { lookedAt: clock.monotonicMs(), endsAtHeight })
    },
    wake: (id) => void leases.delete(id),
    has: (id) => leases.has(id),
    retain(ids) {
      for (const id of leases.keys()) if (!ids.has(id)) leases.delete(id)
    },
    see(height) {
      block = { height, at: clock.monotonicMs() }
      tell()
    },
  }
}
