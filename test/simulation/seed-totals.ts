import { allTransitions } from './transitions/transition-coverage.ts'
import { OCCURRENCES } from './coverage.ts'
import type { SeedOutcome } from './run-plan.ts'
import { RARE_CALLS } from './plan/fault-rates.ts'
import { unreachableTransitions } from './transitions/unreachable.ts'

/** The totals as JSON, to store them with the progress of a run. */
export type StoredTotals = Pick<SeedOutcome, 'steps' | 'virtualMs' | 'faults' | 'transitions' | 'statuses' | 'crashPoints'> & {
  readonly seeds: number
}

/** The total coverage of many seeds. */
export type SeedTotals = {
  add(outcome: SeedOutcome): void
  readonly seeds: () => number
  readonly steps: () => number
  readonly virtualMs: () => number
  readonly faults: ReadonlyMap<string, number>
  readonly transitions: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  readonly crashPoints: ReadonlySet<string>
  /** @returns a message for each name that a full run has to cover and these seeds did not, and for each unexpected transition */
  missing(): readonly string[]
  toStored(): StoredTotals
}

const addCounts = (totals: Map<string, number>, counts: Readonly<Record<string, number>>): void => {
  for (const [name, count] of Object.entries(counts)) totals.set(name, (totals.get(name) ?? 0) + count)
}

export const KILL_MOMENTS = ['before', 'after'] as const

const noTotals: StoredTotals = { seeds: 0, steps: 0, virtualMs: 0, faults: {}, transitions: {}, statuses: {}, crashPoints: [] }

/** @param previous the stored totals of the run to resume */
export function createSeedTotals(previous: StoredTotals = noTotals): SeedTotals {
  const [faults, transitions, statuses] = [previous.faults, previous.transitions, previous.statuses].map(
    (counts) => new Map(Object.entries(counts)),
  ) as [Map<string, number>, Map<string, number>, Map<string, number>] // `map` keeps the length.
  const crashPoints = new Set(previous.crashPoints)
  let { seeds, steps, virtualMs } = previous
  return {
    add(outcome) {
      seeds += 1
      steps += outcome.steps
      virtualMs += outcome.virtualMs
      addCounts(faults, outcome.faults)
      addCounts(transitions, outcome.transitions)
      addCounts(statuses, outcome.statuses)
      for (const point of outcome.crashPoints) crashPoints.add(point)
    },
    seeds: () => seeds,
    steps: () => steps,
    virtualMs: () => virtualMs,
    faults,
    transitions,
    statuses,
    crashPoints,
    toStored: () => ({
      seeds,
      steps,
      virtualMs,
      faults: Object.fromEntries(faults),
      transitions: Object.fromEntries(transitions),
      statuses: Object.fromEntries(statuses),
      crashPoints: [...crashPoints],
    }),
    missing: () => [
      ...Object.values(OCCURRENCES)
        .flat()
        .filter((occurrence) => !faults.has(occurrence))
        .map((occurrence) => `no run met the occurrence "${occurrence}"`),
      ...[...crashPoints]
        .toSorted()
        .flatMap((point) =>
          KILL_MOMENTS.filter((moment) => !faults.has(`killed ${moment} ${point}`)).map(
            (moment) => `no process crashed ${moment} ${point}`,
          ),
        ),
      ...Object.keys(RARE_CALLS)
        .filter((point) => !crashPoints.has(point))
        .map((point) => `no process made the call ${point}`),
      ...allTransitions
        .filter((transition) => !transitions.has(transition) && !(transition in unreachableTransitions))
        .map((transition) => `the transition ${transition} was not taken`),
      ...Object.keys(unreachableTransitions)
        .filter((transition) => transitions.has(transition))
        .map((transition) => `the transition ${transition} was taken although it is listed as unreachable`),
    ],
  }
}
