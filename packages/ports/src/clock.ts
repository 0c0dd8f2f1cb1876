export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Resolves after so many milliseconds, however many, or at once when the signal fires; it never rejects. Sleepers wake in
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
