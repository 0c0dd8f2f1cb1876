import { allEdges } from './edges.ts'
import { OCCASIONS } from './reached.ts'
import type { Outcome } from './run-plan.ts'
import { RARE_CALLS } from './plan-faults.ts'
import { unreachable } from './unreachable.ts'

/** The sums as they are written down. */
export type Sums = Pick<Outcome, 'steps' | 'virtualMs' | 'faults' | 'edges' | 'statuses' | 'points'> & { readonly seeds: number }

/** What many seeds reached together. */
export type Tally = {
  add(outcome: Outcome): void
  readonly seeds: () => number
  readonly steps: () => number
  readonly virtualMs: () => number
  readonly faults: ReadonlyMap<string, number>
  readonly edges: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  readonly points: ReadonlySet<string>
  /** Names of what should have been reached and never was. */
  missing(): readonly string[]
  toSums(): Sums
}

const into = (sums: Map<string, number>, counts: Readonly<Record<string, number>>): void => {
  for (const [name, count] of Object.entries(counts)) sums.set(name, (sums.get(name) ?? 0) + count)
}

export const MOMENTS = ['before', 'after'] as const

const nothing: Sums = { seeds: 0, steps: 0, virtualMs: 0, faults: {}, edges: {}, statuses: {}, points: [] }

/** @param before what was summed up already */
export function tally(before: Sums = nothing): Tally {
  const [faults, edges, statuses] = [before.faults, before.edges, before.statuses].map(
    (counts) => new Map(Object.entries(counts)),
  ) as [Map<string, number>, Map<string, number>, Map<string, number>] // three
  const points = new Set(before.points)
  let { seeds, steps, virtualMs } = before
  return {
    add(outcome) {
      seeds += 1
      steps += outcome.steps
      virtualMs += outcome.virtualMs
      into(faults, outcome.faults)
      into(edges, outcome.edges)
      into(statuses, outcome.statuses)
      for (const point of outcome.points) points.add(point)
    },
    seeds: () => seeds,
    steps: () => steps,
    virtualMs: () => virtualMs,
    faults,
    edges,
    statuses,
    points,
    toSums: () => ({
      seeds,
      steps,
      virtualMs,
      faults: Object.fromEntries(faults),
      edges: Object.fromEntries(edges),
      statuses: Object.fromEntries(statuses),
      points: [...points],
    }),
    missing: () => [
      ...Object.values(OCCASIONS)
        .flat()
        .filter((what) => !faults.has(what))
        .map((what) => `it never came to this: ${what}`),
      ...[...points]
        .toSorted()
        .flatMap((point) =>
          MOMENTS.filter((moment) => !faults.has(`killed ${moment} ${point}`)).map((moment) => `nobody died ${moment} ${point}`),
        ),
      ...Object.keys(RARE_CALLS)
        .filter((point) => !points.has(point))
        .map((point) => `nobody ever made this call: ${point}`),
      ...allEdges.filter((edge) => !edges.has(edge) && !(edge in unreachable)).map((edge) => `the edge ${edge} was never taken`),
      ...Object.keys(unreachable)
        .filter((edge) => edges.has(edge))
        .map((edge) => `the edge ${edge} was taken, and is said to be unreachable`),
    ],
  }
}
