export interface Clock {
  /**
   * The wall clock: milliseconds since 1970. For instants that are stored or told to others; it may jump, ahead and back, so
   * that the difference of two readings is no duration.
   */
  now(): number
  /**
   * The monotonic clock: whole milliseconds since an instant of this process's own, which never jump. For durations within one
   * process, such as time limits, ages of caches and how long a look counts; never stored, never told to another process.
   * While the machine is suspended it stands still.
   */
  monotonicMs(): number
  /**
   * By the monotonic clock. Resolves after so many milliseconds, however many, or at once when the signal fires; it never rejects. Sleepers wake in
   * the order in which their time is over; among those of one millisecond there is none.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Ids {
  /** A new UUIDv7: ordered by time, so that stores append rather than insert. */
  uuid(): string
  /** Unguessable bytes, for keys and tokens. */
  random(bytes: number): Uint8Array
}
