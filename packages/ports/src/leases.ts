/**
 * Rights that one process has at a time, for work that one of several replicas should do. They expire by themselves, so a
 * crashed or frozen holder blocks the others only for a limited time.
 *
 * A lease is not a lock: a paused holder may continue after the expiry. The work under a lease must therefore be harmless if
 * two processes do it.
 */
export interface Leases {
  /**
   * Acquires the lease for `ttlMs` from now, or extends it. @returns false while the lease of another owner runs
   * @throws Fault if it is unknown whether the lease was acquired
   */
  acquire(name: string, owner: string, ttlMs: number): Promise<boolean>
  /** Releases the lease before its expiry. It has no effect if another owner holds the lease. */
  release(name: string, owner: string): Promise<void>
}
