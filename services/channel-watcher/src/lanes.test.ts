import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { lanes } from './lanes.ts'

test('a few side by side, each id once at a time and once more for what came meanwhile', async () => {
  const begun: string[] = []
  const free = new Map<string, () => void>()
  const work = lanes(2, (id) => {
    begun.push(id)
    return new Promise((resolve) => free.set(id, resolve))
  })
  work.add(['a', 'b', 'c'])
  work.add(['a'])
  expect(begun).toEqual(['a', 'b'])
  free.get('a')?.()
  await until('the next has its lane', () => begun.length === 3)
  expect(begun[2]).toBe('c')
  free.get('c')?.()
  await until('the first is done again', () => begun.length === 4)
  expect(begun[3]).toBe('a')
  work.add(['d'])
  const stopped = work.stop()
  free.get('a')?.()
  free.get('b')?.()
  await stopped
  expect(begun).not.toContain('d')
})
