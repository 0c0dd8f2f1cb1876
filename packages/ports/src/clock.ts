export interface Clock {
  /**
   * Reads the wall clock in milliseconds since 1970, for timestamps that are stored or sent. It may jump ahead and back, so the
   * difference of two readings is not a duration.
   */
  now(): number
  /**
   * Reads the monotonic clock in whole milliseconds since an instant of this process. It never jumps, and it stops while the
   * machine is suspended. It is for durations within one process, such as timeouts and ages of caches. A reading must not be
   * stored or sent.
   */
  monotonicMs(): number
  /**
   * Resolves after `ms` milliseconds of the monotonic clock, without an upper limit, or at once when the signal aborts. It never
   * rejects. Sleepers wake in the order of their wake-up times; within one millisecond the order is undefined.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Ids {
  /** Creates a UUIDv7. UUIDs sort by their creation time, so that stores append rather than insert. */
  uuid(): string
  /** Unguessable bytes, for keys and tokens. */
  random(bytes: number): Uint8Array
}
