/** Limits the observations of idle leases, so that the cost of a block does not grow with the number of sold channels. */
const MAX_LEASES_PER_BLOCK = 500
/** The shortest time between two observations of an idle lease, since blocks of a test network may come every second. */
const MIN_IDLE_MS = 60_000
/** With more leases each is observed less often, so that fast blocks cost no more. This ends at `MAX_IDLE_MS`. */
const IDLE_MS_PER_LEASE = 500
/** The usual time between two blocks. */
const MAX_IDLE_MS = 600_000
/** The shortest time between two reports by the timer, which spreads the observations of many leases. */
const MIN_TIMER_MS = 15_000

type IdleClock = { readonly monotonicMs: () => number; readonly sleep: (ms: number, signal: AbortSignal) => Promise<void> }
/** `observedAt`: a timestamp of the monotonic clock. */
type IdleLease = { readonly observedAt: number; readonly endsAtHeight: number }

/** Leases that wait only for their end. They are observed from time to time on new blocks, and at once at their last block. */
export type IdleLeases = {
  /** Adds a lease that was observed just now. */
  add(id: string, endsAtHeight: number): void
  remove(id: string): void
  readonly has: (id: string) => boolean
  /** Removes every lease whose id is not in `ids`. */
  retain(ids: ReadonlySet<string>): void
  /** Reports the leases that are due at a new block. */
  onBlock(height: number): void
}

/** @param onDue receives the due leases, the longest unobserved first */
export function trackIdleLeases(clock: IdleClock, signal: AbortSignal, onDue: (ids: readonly string[]) => void): IdleLeases {
  const leases = new Map<string, IdleLease>()
  let block = { height: 0, at: 0 }
  let isWaiting = false

  function reportDue(): void {
    if (signal.aborted) return
    const notObserved = [...leases].filter(([, { observedAt }]) => observedAt < block.at)
    const idleMs = Math.min(Math.max(MIN_IDLE_MS, leases.size * IDLE_MS_PER_LEASE), MAX_IDLE_MS)
    const idleSince = clock.monotonicMs() - idleMs
    const isDue = ({ observedAt, endsAtHeight }: IdleLease): boolean => observedAt <= idleSince || block.height >= endsAtHeight
    const due = notObserved.filter(([, lease]) => isDue(lease)).slice(0, MAX_LEASES_PER_BLOCK)
    const reported = new Set(due.map(([id]) => id))
    onDue([...reported])
    const remaining = notObserved.filter(([id]) => !reported.has(id))
    if (remaining.length > 0) scheduleReport(Math.min(...remaining.map(([, { observedAt }]) => observedAt + idleMs)))
  }

  // A timer reports the remaining leases, because the next block may come much later.
  function scheduleReport(at: number): void {
    if (isWaiting) return
    isWaiting = true
    void clock.sleep(Math.max(MIN_TIMER_MS, at - clock.monotonicMs()), signal).then(() => {
      isWaiting = false
      reportDue()
    })
  }

  return {
    add(id, endsAtHeight) {
      leases.delete(id)
      leases.set(id, { observedAt: clock.monotonicMs(), endsAtHeight })
    },
    remove: (id) => void leases.delete(id),
    has: (id) => leases.has(id),
    retain(ids) {
      for (const id of leases.keys()) if (!ids.has(id)) leases.delete(id)
    },
    onBlock(height) {
      block = { height, at: clock.monotonicMs() }
      reportDue()
    },
  }
}
