import { expect, test } from 'vitest'
import type { SecondSample } from '@penstock/cli/load/orders/generator.ts'
import { isWithinShare } from './core-share.ts'
import { countSalesPerSecond } from './replicas.ts'
import { listMissedReplicaGoals, renderReplicas } from './replicas-report.ts'

const sampleAt = (atMs: number, sold: number, open: number): SecondSample => ({
  ...({} as SecondSample), // the other fields do not matter here
  atMs,
  statuses: new Map([
    ['VALID_CHANNEL_OPENING', sold],
    ['WAITING_FOR_CHANNEL_OPEN', open],
  ]),
})

test('sales are counted between two seconds, by the samples nearest to them', () => {
  const samples = [sampleAt(1001, 0, 2), sampleAt(2002, 1, 9), sampleAt(3003, 4, 9), sampleAt(4001, 9, 9), sampleAt(9000, 30, 0)]
  expect(countSalesPerSecond(samples, 2, 4)).toBe(4)
})

test('a process has budget while it has used at most its share of the time', () => {
  expect(isWithinShare(10, 100, 0.1)).toBe(true)
  expect(isWithinShare(11, 100, 0.1)).toBe(false)
})

test('the page shows the ratio and its target', () => {
  const page = renderReplicas({ service: 'order', coreShare: 0.1, one: 0.5, two: 0.9 }, new Date('2026-11-30'))
  expect(page).toContain('| two replicas ÷ one replica | ≥ 1.7 | 1.80 | held |')
  expect(page).toContain('Measured on 2026-11-30')
  expect(listMissedReplicaGoals({ service: 'order', coreShare: 0.1, one: 0.5, two: 0.8 })).toEqual([
    'sales per second with two replicas beside one: 1.60, wanted 1.7',
  ])
})
