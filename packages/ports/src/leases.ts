/**
 * Rights that one process has at a time, for work that several replicas could do and one does best. They run out by
 * themselves, so a holder that died or sleeps keeps nobody waiting for long.
 *
 * A lease is no lock: its holder may be paused and go on after it ran out, so what is done under one must be harmless
 * when two do it.
 */
export interface Leases {
  /**
   * Takes the lease for `ttlMs` from now, or extends it. @returns false where another owner's still runs.
   * @throws Fault where it is not known whether it was taken
   */
  hold(name: string, owner: string, ttlMs: number): Promise<boolean>
  /** Gives it up before its time; nothing happens where somebody else holds it. */
  release(name: string, owner: string): Promise<void>
}
