import { describe, expect, test } from 'vitest'
import { planOf } from './draw-plan.ts'
import { allEdges } from './edges.ts'
import { LOOKS } from './invariants.ts'
import { RARE_CALLS } from './plan-faults.ts'
import { OCCASIONS } from './reached.ts'
import { hasPassed, report, WHOLE } from './report.ts'
import type { Outcome } from './run-plan.ts'
import { tally } from './tally.ts'
import { unreachable } from './unreachable.ts'

const names = Object.values(OCCASIONS).flat()
const once = (what: readonly string[]): Readonly<Record<string, number>> => Object.fromEntries(what.map((name) => [name, 1]))

const rare = Object.keys(RARE_CALLS)
const deathsAt = (points: readonly string[]): readonly string[] =>
  points.flatMap((point) => [`killed before ${point}`, `killed after ${point}`])

/** @param calls beside `points` those at which deaths are planned; somebody died at each of them */
const outcome = (
  faults: readonly string[],
  edges: readonly string[],
  points: readonly string[] = [],
  calls: readonly string[] = rare,
): Outcome => ({
  plan: planOf(1),
  broken: undefined,
  trace: '',
  steps: 1,
  virtualMs: 1,
  cpuMs: 1,
  faults: once([...faults, ...deathsAt(calls)]),
  edges: once(edges),
  statuses: {},
  events: 1,
  points: [...calls, ...points],
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
    expect(missingOf([...names, ...deathsAt(['store.append'])], reachable, ['store.append'])).toEqual([])
  })

  test('is named: a call at which deaths are planned, and which nobody makes', () => {
    const [never = '', ...others] = rare
    expect(missingOf(names, reachable, [], others)).toEqual([`nobody ever made this call: ${never}`])
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

describe('a run of many seeds', () => {
  const deaths = deathsAt(['store.append'])
  const [never = '', ...taken] = reachable
  /** So many seeds, of which each meets the same. */
  const runOf = (count: number, edges: readonly string[], ran = count) => {
    const sums = tally({ ...tally().toSums(), seeds: ran - 1 })
    sums.add(outcome([...names, ...deaths], edges, ['store.append']))
    return { from: 1, count, sums, failed: [] }
  }

  test('has passed where all ran, none failed, and all that there is was met', () => {
    expect(hasPassed(runOf(WHOLE, reachable))).toBe(true)
  })

  test('has failed with an edge that is never reached, from so many seeds on', () => {
    const run = runOf(WHOLE, taken)
    expect(run.sums.missing()).toEqual([`the edge ${never} was never taken`])
    expect(hasPassed(run)).toBe(false)
    expect(hasPassed(runOf(WHOLE + 1, taken))).toBe(false)
    expect(hasPassed(runOf(WHOLE - 1, taken))).toBe(true)
  })

  test('has failed with a seed that failed, and where some never ran', () => {
    const broken = { ...outcome([], []), broken: { invariant: 'money', message: 'money: 1 msat', stack: '' } }
    expect(hasPassed({ ...runOf(WHOLE, reachable), failed: [broken] })).toBe(false)
    expect(hasPassed({ ...runOf(1, reachable), failed: [broken] })).toBe(false)
    expect(hasPassed(runOf(WHOLE, reachable, WHOLE - 1))).toBe(false)
  })
})

const made = { commit: 'abc1234 with changes', on: new Date(Date.UTC(2026, 0, 31, 23, 59)) }

test('the report has a row for everything that can be reached, also for what was not', () => {
  const text = report({ from: 1, count: 0, sums: tally(), failed: [] }, made)
  for (const name of names) expect(text).toContain(`| ${name.slice(name.indexOf(': ') + 1).trim()} | 0 |`)
})

test('the report says how often the read models were looked at', () => {
  const sums = tally()
  sums.add({ ...outcome(names, reachable), faults: { [LOOKS]: 1234 } })
  expect(report({ from: 1, count: 1, sums, failed: [] }, made)).toMatch(
    /no read model knows what nobody has\s+appended, 1,234 looks in all/,
  )
})

test('the report says which code ran, what failed and what was not reached', () => {
  const sums = tally()
  const good = outcome([...names, ...deathsAt(['store.append'])], reachable, ['store.append'])
  sums.add(good)
  const whole = report({ from: 3, count: 1, sums, failed: [] }, made)
  expect(whole).toContain('1 seeds from 3 on, run on 2026-01-31 with the code of commit abc1234 with changes: 1 steps')
  expect(whole).toContain('No seed failed.')
  expect(whole).toContain('Everything there is was reached.')

  const [first = '', ...others] = reachable
  const poor = tally()
  const broken = { ...outcome(names, others), broken: { invariant: 'money', message: 'money: 1 msat', stack: '' } }
  poor.add(broken)
  const text = report({ from: 1, count: 1, sums: poor, failed: [broken] }, made)
  expect(text).toContain('1 failed: seed 1 (money).')
  expect(text).toContain(`1 things were not reached: the edge ${first} was never taken.`)
})
