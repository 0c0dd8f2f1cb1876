import { expect, test } from 'vitest'
import { toReachableHost } from './reachable-host.ts'

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['fd00::7', '[fd00::7]'],
  ['localhost', 'localhost'],
])('a server that listens on %s is reached at %s', (listens, reached) => {
  expect(toReachableHost(listens)).toBe(reached)
})
