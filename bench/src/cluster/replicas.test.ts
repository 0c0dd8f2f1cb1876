import { expect, test } from 'vitest'
import type { SecondSample } from '@penstock/cli/load/orders/generator.ts'
import { isWithinShare } from './core-share.ts'
import { computeBusyShare, countSalesPerSecond } from './replicas.ts'
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

const sales = (perSecond: number, busyShare = 0.5, usedShare = 0.5) => ({ perSecond, busyShare, usedShare })

test('the page shows the ratio and its target', () => {
  const page = renderReplicas({ service: 'order', coreShare: 0.1, one: sales(0.5), two: sales(0.9) }, new Date('2026-11-30'))
  expect(page).toContain('| two replicas ÷ one replica | ≥ 1.7 | 1.80 | held |')
  expect(page).toContain('Measured on 2026-11-30')
  expect(listMissedReplicaGoals({ service: 'order', coreShare: 0.1, one: sales(0.5), two: sales(0.8) })).toEqual([
    'sales per second with two replicas beside one: 1.60, wanted 1.7',
  ])
})

test('the page names the part that is full, if the ratio is missed', () => {
  const render = (two: number, busyShare: number, usedShare: number): string =>
    renderReplicas({ service: 'order', coreShare: 0.1, one: sales(0.5), two: sales(two, busyShare, usedShare) })
  expect(render(0.6, 0.97, 0.5)).toContain('With two replicas the machine itself is full.')
  expect(render(0.6, 0.97, 0.95)).toContain('With two replicas `order` itself is full.')
  expect(render(0.6, 0.7, 0.7)).toContain('neither `order` nor the machine is full')
  expect(render(0.9, 0.97, 0.95)).not.toContain('With two replicas')
})

test('the busy share is the share of the time that no core was idle', () => {
  expect(computeBusyShare({ idleMs: 100, allMs: 1000 }, { idleMs: 300, allMs: 2000 })).toBeCloseTo(0.8)
})
