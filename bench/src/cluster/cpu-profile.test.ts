import { expect, test } from 'vitest'
import { type CpuProfile, renderTimes, sumTimes } from './cpu-profile.ts'

const createNode = (id: number, functionName: string, url = '', children: readonly number[] = []) => ({
  id,
  callFrame: { functionName, url, lineNumber: 9 },
  children,
})
const decideUrl = new URL('../../../services/order/src/decide.ts', import.meta.url).href
const zodUrl = 'file:///app/node_modules/.pnpm/zod@4/node_modules/zod/index.js'
const profile: CpuProfile = {
  nodes: [
    createNode(1, '(root)', '', [2, 3, 6, 7]),
    createNode(2, '(idle)'),
    createNode(3, 'decide', decideUrl, [4]),
    createNode(4, 'parse', zodUrl, [5]),
    createNode(5, 'write', 'node:net'),
    createNode(6, '(garbage collector)'),
    createNode(7, 'parse', zodUrl),
  ],
  startTime: 1_000_000,
  samples: [3, 2, 4, 5, 6, 7, 2],
  timeDeltas: [100, 2000, 50_000, 3000, 4000, 1000, 500],
}

test('the time of a sample lasts until the next one, and counts for the nearest package and function of Penstock', () => {
  expect(sumTimes([profile])).toEqual({
    byPackage: [
      { name: 'zod', ms: 7.5 },
      { name: 'Penstock', ms: 2 },
      { name: '(garbage collector)', ms: 1 },
    ],
    byFunction: [
      { name: 'decide services/order/src/decide.ts:10', ms: 9 },
      { name: '(garbage collector)', ms: 1 },
      { name: 'zod', ms: 0.5 },
    ],
  })
})

test('profiles of several threads are added', () => {
  expect(sumTimes([profile, profile]).byPackage[0]).toEqual({ name: 'zod', ms: 15 })
})

test('samples outside of the window do not count', () => {
  expect(sumTimes([profile], { sinceUs: 1_059_000, untilUs: 1_060_100 }).byPackage).toEqual([
    { name: '(garbage collector)', ms: 1 },
    { name: 'zod', ms: 0.5 },
  ])
})

test('the rendered profile has eight packages and sixteen functions with their shares', () => {
  const times = Array.from({ length: 25 }, (_, n) => ({ name: `f${n}`, ms: 40 }))
  const lines = renderTimes('order', { byPackage: times, byFunction: times }).split('\n')
  expect(lines).toHaveLength(27)
  expect(lines[0]).toBe('order: 1.0 s without idle time')
  expect(lines[2]).toBe('      40 ms   4.0 %  f0')
})
