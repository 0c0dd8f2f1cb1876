export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds, or at once when the signal fires; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Ids {
  /** A new UUIDv7: ordered by time, so that stores append rather than insert. */
  uuid(): string
  /** Unguessable bytes, for keys and tokens. */
  random(bytes: number): Uint8Array
}
