import type { Random } from './random.ts'

/** What can go wrong, and where. Each has a rate per occasion, from 0 (never, the default) to 1 (always). */
export const FAULT_KINDS = [
  /** Any call or delivery takes seconds instead of milliseconds. */
  'slow',
  /** The process stands still for many seconds and then goes on as if nothing had been: what it held has run out. */
  'frozen',
  /** The process dies at a call: before it is applied, or after it and before the answer. */
  'killBefore',
  'killAfter',
  /** Event store: nothing happened; it happened and the answer was lost; what is followed breaks off. */
  'appendFault',
  'appendUnknown',
  /** Calls that change something, here and below. Late: given up by a caller who lives, and carried out seconds later. */
  'appendLate',
  /** Orphan: on its way when its caller died, and carried out when others have gone on. */
  'appendOrphan',
  'readFault',
  'followCut',
  /** From now on, for a while, nothing can be appended, published or committed. */
  'diskFull',
  /** Bus: nothing stored; stored, or only its first messages, and the answer lost. */
  'publishFault',
  'publishUnknown',
  'publishPartial',
  'publishLate',
  'publishOrphan',
  /** A delivery that never arrives and comes again later; one that is repeated, with some before it; a consumer that lags. */
  'busDrop',
  'busRepeat',
  'busSlow',
  /** Keys of a group change hands, and the new hand begins at what was last kept. */
  'busRebalance',
  /** Database: a statement that fails; a commit that failed; one that succeeded and nobody knows. */
  'queryFault',
  'commitFault',
  'commitUnknown',
  /** A statement by itself that waits at the server after its caller has given it up. */
  'statementLate',
  'leaseFault',
  'leaseUnknown',
  'leaseLate',
  'leaseOrphan',
  /** Outside: the call never arrived; it was carried out and the answer lost. */
  'lightningFault',
  'lightningUnknown',
  'lightningLate',
  'lightningOrphan',
  'chainFault',
  'outsideFault',
  'outsideUnknown',
  /** A watch that breaks off, goes silent for ever, or repeats itself. */
  'watchCut',
  'watchSilent',
  'watchRepeat',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Rates per occasion; what is left out never happens. */
export type FaultPlan = Readonly<Partial<Record<FaultKind, number>>>

export type Faults = {
  /** Whether it happens now; if so it is counted. */
  readonly strikes: (kind: FaultKind, draws: Random) => boolean
  /** Counts what happened by another hand, under a name of its own. */
  readonly count: (name: string) => void
  /** How often each fault really happened. */
  readonly counts: () => Readonly<Record<string, number>>
  /** Until `on`: nothing goes wrong any more. */
  readonly off: () => void
  readonly on: () => void
  readonly areOn: () => boolean
}

export function faults(plan: FaultPlan = {}): Faults {
  const happened = new Map<string, number>()
  let isOn = true
  const count = (name: string): void => void happened.set(name, (happened.get(name) ?? 0) + 1)
  return {
    strikes(kind, draws) {
      if (!isOn || !draws.chance(plan[kind] ?? 0)) return false
      count(kind)
      return true
    },
    count,
    counts: () => Object.fromEntries([...happened].sort(([a], [b]) => (a < b ? -1 : 1))),
    off: () => void (isOn = false),
    on: () => void (isOn = true),
    areOn: () => isOn,
  }
}
