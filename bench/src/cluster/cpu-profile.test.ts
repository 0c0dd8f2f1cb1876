import { expect, test } from 'vitest'
import { type CpuProfile, renderFunctions, sumSelfTimes } from './cpu-profile.ts'

const createNode = (id: number, functionName: string, url = '', lineNumber = -1) => ({
  id,
  callFrame: { functionName, url, lineNumber },
})
const decideUrl = new URL('../../../services/order/src/decide.ts', import.meta.url).href
const profile: CpuProfile = {
  nodes: [
    createNode(1, '(root)'),
    createNode(2, '(idle)'),
    createNode(3, 'decide', decideUrl, 9),
    createNode(4, '', 'file:///app/node_modules/.pnpm/zod@4/node_modules/zod/index.js', 0),
    createNode(5, 'decide', decideUrl, 9),
    createNode(6, '(garbage collector)'),
    createNode(7, ''),
  ],
  samples: [3, 2, 4, 5, 6, 7, 2],
  timeDeltas: [100, 2000, 50_000, 3000, 4000, 1000, 500],
}

test('the self time of a function is the time from its samples to the next ones, over all its call sites', () => {
  expect(sumSelfTimes([profile])).toEqual([
    { name: 'decide services/order/src/decide.ts:10', selfMs: 6 },
    { name: '(anonymous) zod/index.js:1', selfMs: 3 },
    { name: '(garbage collector)', selfMs: 1 },
    { name: '(anonymous)', selfMs: 0.5 },
  ])
})

test('profiles of several threads are added', () => {
  expect(sumSelfTimes([profile, profile])[0]).toEqual({ name: 'decide services/order/src/decide.ts:10', selfMs: 12 })
})

test('the rendered profile has at most twenty functions with their share', () => {
  const times = Array.from({ length: 25 }, (_, n) => ({ name: `f${n}`, selfMs: 40 }))
  const lines = renderFunctions('order', times).split('\n')
  expect(lines).toHaveLength(21)
  expect(lines[0]).toBe('order: 1.0 s without idle time')
  expect(lines[1]).toBe('      40 ms   4.0 %  f0')
})
