export type LimitOutcome =
  | { readonly allowed: true; readonly remaining: number }
  /** `retryAfterMs`: milliseconds until the next hit is allowed. */
  | { readonly allowed: false; readonly retryAfterMs: number }

/** Counters that all replicas share. They may lose entries, so no decision about money may depend on them. */
export interface Limits {
  /**
   * Counts a hit, unless the sliding window of `windowMs` that ends now has `limit` hits. A limit of 0 allows every hit. With a
   * limit above 100, a hit may count up to a second longer than the window.
   */
  hit(key: string, limit: number, windowMs: number, now: number): Promise<LimitOutcome>
  /** Takes back one hit that was counted at `at`; without such a hit nothing changes. */
  takeBack(key: string, at: number): Promise<void>
  /** Records that the key was seen at `now`. */
  touch(key: string, now: number): Promise<void>
  /** @returns milliseconds since 1970; undefined if the key was never seen */
  lastSeen(key: string): Promise<number | undefined>
}
