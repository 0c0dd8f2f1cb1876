import { expect, test } from 'vitest'
import { allEdges } from './edges.ts'
import type { Outcome } from './run-plan.ts'
import { tally } from './tally.ts'
import { unreachable } from './unreachable.ts'

const taking = (edges: readonly string[]): Outcome => {
  const none = { steps: 1, virtualMs: 1, cpuMs: 1, events: 0, points: [], recent: [], diary: [], broken: undefined, trace: '' }
  // A tally reads no plan.
  const plan = {} as Outcome['plan']
  return { ...none, plan, faults: {}, statuses: {}, edges: Object.fromEntries(edges.map((edge) => [edge, 1])) }
}

test('only edges that there are are said to be unreachable', () => {
  expect(Object.keys(unreachable).filter((edge) => !allEdges.includes(edge))).toEqual([])
})

test('an edge that is said to be unreachable and was taken fails the run', () => {
  const [edge = ''] = Object.keys(unreachable)
  const sums = tally()
  sums.add(taking(allEdges.filter((one) => !(one in unreachable))))
  expect(sums.missing().filter((gap) => gap.startsWith('the edge'))).toEqual([])
  sums.add(taking([edge]))
  expect(sums.missing()).toContain(`the edge ${edge} was taken, and is said to be unreachable`)
})

test('an edge that was never taken and is not listed fails the run', () => {
  const [edge = ''] = allEdges.filter((one) => !(one in unreachable))
  const sums = tally()
  sums.add(taking(allEdges.filter((one) => one !== edge && !(one in unreachable))))
  expect(sums.missing()).toContain(`the edge ${edge} was never taken`)
})
