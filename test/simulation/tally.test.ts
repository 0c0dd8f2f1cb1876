import { describe, expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import { allEdges } from './edges.ts'
import { OCCASIONS } from './reached.ts'
import { report } from './report.ts'
import type { Outcome } from './run-plan.ts'
import { tally } from './tally.ts'
import { unreachable } from './unreachable.ts'

const names = Object.values(OCCASIONS).flat()
const once = (what: readonly string[]): Readonly<Record<string, number>> => Object.fromEntries(what.map((name) => [name, 1]))

const outcome = (faults: readonly string[], edges: readonly string[], points: readonly string[] = []): Outcome => ({
  plan: planOf(1),
  broken: undefined,
  trace: '',
  steps: 1,
  virtualMs: 1,
  cpuMs: 1,
  faults: once(faults),
  edges: once(edges),
  statuses: {},
  events: 1,
  points,
  recent: [],
  diary: [],
})
const reachable = allEdges.filter((edge) => !(edge in unreachable))
const missingOf = (...given: Parameters<typeof outcome>): readonly string[] => {
  const sums = tally()
  sums.add(outcome(...given))
  return sums.missing()
}

describe('what a run has not reached', () => {
  test('is nothing once everything was met', () => {
    const deaths = ['killed before store.append', 'killed after store.append']
    expect(missingOf([...names, ...deaths], reachable, ['store.append'])).toEqual([])
  })

  test.each([
    'process with pinned contracts',
    'append that met a conflict',
    're-org that took a funding out of its block',
    'process killed as planned',
    'process whose clock is off',
    'message that waited for a slow consumer',
    'message that one of another key overtook',
    'diskFull',
    'asked to open: vanish',
    'stroke: a re-org',
    'weather: evict',
    'both replicas at work: settlement',
  ])('is named: %s', (what) => {
    const others = names.filter((name) => name !== what)
    expect(others).toHaveLength(names.length - 1)
    expect(missingOf(others, reachable)).toEqual([`it never came to this: ${what}`])
  })

  test('is named: a moment at which nobody died, an edge that was not taken, and one that should not have been', () => {
    const [never = ''] = Object.keys(unreachable)
    const [first = '', ...others] = reachable
    expect(missingOf([...names, 'killed before store.append'], [...others, never], ['store.append'])).toEqual([
      'nobody died after store.append',
      `the edge ${first} was never taken`,
      `the edge ${never} was taken, and is said to be unreachable`,
    ])
  })
})

test('the report has a row for everything that can be reached, also for what was not', () => {
  const text = report(tally(), { from: 1, seeds: 1 })
  for (const name of names) expect(text).toContain(`| ${name.slice(name.indexOf(': ') + 1).trim()} | 0 |`)
})
