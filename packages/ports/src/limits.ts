export type LimitOutcome =
  | { readonly allowed: true; readonly remaining: number }
  /** `retryAfterMs`: when the next hit would be allowed. */
  | { readonly allowed: false; readonly retryAfterMs: number }

/** Counters that all replicas share. They forget: nothing that matters to money is decided by them. */
export interface Limits {
  /** Counts a hit unless there were `limit` of them in any window of `windowMs` that ends now (sliding). A limit of 0 is off. */
  hit(key: string, limit: number, windowMs: number, now: number): Promise<LimitOutcome>
  /** Takes back one hit that was counted at `at`; without such a hit nothing changes. */
  takeBack(key: string, at: number): Promise<void>
  /** Remembers that somebody was heard of at `now`. */
  touch(key: string, now: number): Promise<void>
  /** @returns milliseconds since 1970, or undefined where nobody was heard of */
  lastSeen(key: string): Promise<number | undefined>
}
