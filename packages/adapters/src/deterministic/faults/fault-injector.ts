import type { Prng } from '../prng.ts'

/** The kinds of faults and their places. Each has a rate per occasion, from 0 (never, the default) to 1 (always). */
export const FAULT_KINDS = [
  /** Any call or delivery takes seconds instead of milliseconds. */
  'slow',
  /** The process freezes for many seconds and continues without notice, although its leases have expired. */
  'frozen',
  /** The process crashes at a call: before it is applied, or after it and before the answer. */
  'killBefore',
  'killAfter',
  /** Event store: an append fails without an effect; an append takes effect and its answer is lost. */
  'appendFault',
  'appendUnknown',
  /** Late, here and below: the caller times out and continues, and the call takes effect seconds later. */
  'appendLate',
  /** Orphan: the caller crashes while the call is in transit, and the call takes effect later. */
  'appendOrphan',
  /** A read fails; a followed stream breaks off. */
  'readFault',
  'followCut',
  /** The disk is full for a while, so that appends, publishes and commits fail. */
  'diskFull',
  /** Bus: a publish fails without an effect; it stores all or only the first messages, and its answer is lost. */
  'publishFault',
  'publishUnknown',
  'publishPartial',
  'publishLate',
  'publishOrphan',
  /** A delivery is lost and repeated later; a delivery and some before it are repeated; a consumer lags. */
  'busDrop',
  'busRepeat',
  'busSlow',
  /** A key of a group moves to another consumer, which begins after the last commit. */
  'busRebalance',
  /** Database: a statement fails; a commit fails; a commit succeeds and its answer is lost. */
  'queryFault',
  'commitFault',
  'commitUnknown',
  /** A standalone statement waits at the server until after the timeout of its caller. */
  'statementLate',
  'leaseFault',
  'leaseUnknown',
  'leaseLate',
  'leaseOrphan',
  /** Outside services: a call never arrives; a call takes effect and its answer is lost. */
  'lightningFault',
  'lightningUnknown',
  'lightningLate',
  'lightningOrphan',
  /** The node refuses to begin a payment; it does not name the peer of a held payment. */
  'paymentRefused',
  'peerUnnamed',
  'chainFault',
  'outsideFault',
  'outsideUnknown',
  /** A watch breaks off, stays silent for ever, or repeats an item. */
  'watchCut',
  'watchSilent',
  'watchRepeat',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Rates per occasion. A missing kind never happens. */
export type FaultPlan = Readonly<Partial<Record<FaultKind, number>>>

export type FaultInjector = {
  /** Decides whether the fault happens now, and counts it if so. */
  readonly isInjected: (kind: FaultKind, prng: Prng) => boolean
  /** Counts an event that the injector did not cause, under the given name. */
  readonly count: (name: string) => void
  /** How often each fault really happened. */
  readonly counts: () => Readonly<Record<string, number>>
  /** Stops all faults until `enable`. */
  readonly disable: () => void
  readonly enable: () => void
  readonly isEnabled: () => boolean
}

export function createFaultInjector(plan: FaultPlan = {}): FaultInjector {
  const counters = new Map<string, number>()
  let isActive = true
  const count = (name: string): void => void counters.set(name, (counters.get(name) ?? 0) + 1)
  return {
    isInjected(kind, prng) {
      if (!isActive || !prng.chance(plan[kind] ?? 0)) return false
      count(kind)
      return true
    },
    count,
    counts: () => Object.fromEntries([...counters].sort(([a], [b]) => (a < b ? -1 : 1))),
    disable: () => void (isActive = false),
    enable: () => void (isActive = true),
    isEnabled: () => isActive,
  }
}
