import { expect, test } from 'vitest'
import { allTransitions } from './transition-coverage.ts'
import type { SeedOutcome } from '../run-plan.ts'
import { createSeedTotals } from '../seed-totals.ts'
import { unreachableTransitions } from './unreachable.ts'

const createOutcomeWith = (edges: readonly string[]): SeedOutcome => {
  const none = {
    steps: 1,
    virtualMs: 1,
    cpuMs: 1,
    events: 0,
    crashPoints: [],
    flowLinks: [],
    recentSteps: [],
    traceLines: [],
    violation: undefined,
    scheduleTrace: '',
  }
  // The totals do not read the plan.
  const plan = {} as SeedOutcome['plan']
  return { ...none, plan, faults: {}, statuses: {}, transitions: Object.fromEntries(edges.map((edge) => [edge, 1])) }
}

test('each transition that is listed as unreachable is a transition of a state machine', () => {
  expect(Object.keys(unreachableTransitions).filter((edge) => !allTransitions.includes(edge))).toEqual([])
})

test('the list of missing coverage contains a transition that was taken although it is listed as unreachable', () => {
  const [edge = ''] = Object.keys(unreachableTransitions)
  const totals = createSeedTotals()
  totals.add(createOutcomeWith(allTransitions.filter((transition) => !(transition in unreachableTransitions))))
  expect(totals.missing().filter((gap) => gap.startsWith('the transition'))).toEqual([])
  totals.add(createOutcomeWith([edge]))
  expect(totals.missing()).toContain(`the transition ${edge} was taken although it is listed as unreachable`)
})

test('the list of missing coverage contains a reachable transition that was not taken', () => {
  const [missing = '', ...taken] = allTransitions.filter((transition) => !(transition in unreachableTransitions))
  const totals = createSeedTotals()
  totals.add(createOutcomeWith(taken))
  expect(totals.missing()).toContain(`the transition ${missing} was not taken`)
})
