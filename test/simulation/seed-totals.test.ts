import { describe, expect, test } from 'vitest'
import { drawPlan } from './plan/draw-plan.ts'
import { allTransitions } from './transitions/transition-coverage.ts'
import { VIEW_CHECKS } from './invariants/invariants.ts'
import { RARE_CALLS } from './plan/fault-rates.ts'
import { OCCURRENCES } from './coverage.ts'
import { hasPassed, formatReport, FULL_RUN_SEEDS } from './report.ts'
import type { SeedOutcome } from './run-plan.ts'
import { createSeedTotals } from './seed-totals.ts'
import { unreachableTransitions } from './transitions/unreachable.ts'

const names = Object.values(OCCURRENCES).flat()
const countOnce = (occurrences: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(occurrences.map((name) => [name, 1]))

const rareCalls = Object.keys(RARE_CALLS)
const killsAt = (points: readonly string[]): readonly string[] =>
  points.flatMap((point) => [`killed before ${point}`, `killed after ${point}`])

/** @param calls calls at which a process crashed, both before and after the call @param points further calls without a crash */
const outcome = (
  faults: readonly string[],
  edges: readonly string[],
  points: readonly string[] = [],
  calls: readonly string[] = rareCalls,
): SeedOutcome => ({
  plan: drawPlan(1),
  violation: undefined,
  scheduleTrace: '',
  steps: 1,
  virtualMs: 1,
  cpuMs: 1,
  faults: countOnce([...faults, ...killsAt(calls)]),
  transitions: countOnce(edges),
  statuses: {},
  events: 1,
  crashPoints: [...calls, ...points],
  flowLinks: [],
  recentSteps: [],
  traceLines: [],
})
const reachable = allTransitions.filter((edge) => !(edge in unreachableTransitions))
const missingOf = (...parameters: Parameters<typeof outcome>): readonly string[] => {
  const totals = createSeedTotals()
  totals.add(outcome(...parameters))
  return totals.missing()
}

describe('the list of missing coverage', () => {
  test('is empty after a run that covered every name', () => {
    expect(missingOf([...names, ...killsAt(['store.append'])], reachable, ['store.append'])).toEqual([])
  })

  test('contains a rare call that no process made', () => {
    const [missingCall = '', ...otherCalls] = rareCalls
    expect(missingOf(names, reachable, [], otherCalls)).toEqual([`no process made the call ${missingCall}`])
  })

  test.each([
    'process that was rolled out',
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
  ])('contains the occurrence "%s" if no run met it', (missingName) => {
    const otherNames = names.filter((name) => name !== missingName)
    expect(otherNames).toHaveLength(names.length - 1)
    expect(missingOf(otherNames, reachable)).toEqual([`no run met the occurrence "${missingName}"`])
  })

  test('contains a call without a crash, a transition that was not taken, and a transition that was unexpectedly taken', () => {
    const [unreachable = ''] = Object.keys(unreachableTransitions)
    const [missing = '', ...taken] = reachable
    expect(missingOf([...names, 'killed before store.append'], [...taken, unreachable], ['store.append'])).toEqual([
      'no process crashed after store.append',
      `the transition ${missing} was not taken`,
      `the transition ${unreachable} was taken although it is listed as unreachable`,
    ])
  })
})

describe('hasPassed', () => {
  const kills = killsAt(['store.append'])
  const [missing = '', ...taken] = reachable
  /** @returns a run with this coverage, which has run `ran` of `count` seeds */
  const runOf = (count: number, edges: readonly string[], ran = count) => {
    const totals = createSeedTotals({ ...createSeedTotals().toStored(), seeds: ran - 1 })
    totals.add(outcome([...names, ...kills], edges, ['store.append']))
    return { from: 1, count, totals, failed: [] }
  }

  test('is true if all seeds ran, none failed, and every name was covered', () => {
    expect(hasPassed(runOf(FULL_RUN_SEEDS, reachable))).toBe(true)
  })

  test('is false for a full run that did not take a transition, and true for a shorter run', () => {
    const run = runOf(FULL_RUN_SEEDS, taken)
    expect(run.totals.missing()).toEqual([`the transition ${missing} was not taken`])
    expect(hasPassed(run)).toBe(false)
    expect(hasPassed(runOf(FULL_RUN_SEEDS + 1, taken))).toBe(false)
    expect(hasPassed(runOf(FULL_RUN_SEEDS - 1, taken))).toBe(true)
  })

  test('is false if a seed failed or did not run', () => {
    const broken = { ...outcome([], []), violation: { invariant: 'money', message: 'money: 1 msat', stack: '' } }
    expect(hasPassed({ ...runOf(FULL_RUN_SEEDS, reachable), failed: [broken] })).toBe(false)
    expect(hasPassed({ ...runOf(1, reachable), failed: [broken] })).toBe(false)
    expect(hasPassed(runOf(FULL_RUN_SEEDS, reachable, FULL_RUN_SEEDS - 1))).toBe(false)
  })
})

const runInfo = { commit: 'abc1234 with changes', date: new Date(Date.UTC(2026, 0, 31, 23, 59)) }

test('formatReport has a row for every occurrence, even if no run met it', () => {
  const text = formatReport({ from: 1, count: 0, totals: createSeedTotals(), failed: [] }, runInfo)
  for (const name of names) expect(text).toContain(`| ${name.slice(name.indexOf(': ') + 1).trim()} | 0 |`)
})

test('formatReport contains the number of checks of the read models', () => {
  const totals = createSeedTotals()
  totals.add({ ...outcome(names, reachable), faults: { [VIEW_CHECKS]: 1234 } })
  expect(formatReport({ from: 1, count: 1, totals, failed: [] }, runInfo)).toMatch(
    /no read model contains a fact that no process\s+appended \(1,234 checks in all\)/,
  )
})

test('formatReport contains the commit, the failed seeds and the missing coverage', () => {
  const totals = createSeedTotals()
  const completeOutcome = outcome([...names, ...killsAt(['store.append'])], reachable, ['store.append'])
  totals.add(completeOutcome)
  const fullReport = formatReport({ from: 3, count: 1, totals, failed: [] }, runInfo)
  expect(fullReport).toContain('1 seeds from 3 on, run on 2026-01-31 with the code of commit abc1234 with changes: 1 steps')
  expect(fullReport).toContain('No seed failed.')
  expect(fullReport).toContain('Everything there is was reached.')

  const [missing = '', ...taken] = reachable
  const incomplete = createSeedTotals()
  const broken = { ...outcome(names, taken), violation: { invariant: 'money', message: 'money: 1 msat', stack: '' } }
  incomplete.add(broken)
  const text = formatReport({ from: 1, count: 1, totals: incomplete, failed: [broken] }, runInfo)
  expect(text).toContain('1 failed: seed 1 (money).')
  expect(text).toContain(`1 names were not covered: the transition ${missing} was not taken.`)
})
