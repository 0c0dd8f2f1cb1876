import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { repositorySources } from './repository.ts'
import { parseSource } from './source.ts'
import { findUnusedExceptions, findWallClockBreaches } from './wall-clock.ts'

test('shipped code measures durations by the monotonic clock', () => expectNone(findWallClockBreaches(repositorySources)))

test('every listed exception still uses the wall clock', () => expectNone(findUnusedExceptions(repositorySources)))

const FILE = 'packages/runtime/src/any.ts'

test.each([
  'const isOld = clock.now() - since > LIMIT_MS',
  'const until = basics.clock.now() + TIMEOUT_MS',
  'if (clock.now() >= until) give()',
  'while (until > clock.now()) look()',
  'const leftMs = until - ports.clock.now()',
  'const startedAt = Date.now()',
])('the line "%s" is reported', (line) => {
  expect(findWallClockBreaches([parseSource(FILE, line)])).toEqual([
    expect.stringContaining(`${FILE}:1 calculates with the wall clock`),
  ])
})

test.each([
  'const isOld = clock.monotonicMs() - since > LIMIT_MS',
  'const now = (): number => clock.now()',
  'const at = clock.now()',
  'const leftMs = end - performance.now()',
])('the line "%s" is accepted', (line) => {
  expect(findWallClockBreaches([parseSource(FILE, line)])).toEqual([])
})

test('tests and listed files may calculate with the wall clock', () => {
  const text = 'const startedAt = Date.now()'
  for (const path of ['packages/runtime/src/any.test.ts', 'packages/adapters/src/system/clock.ts', 'tools/any.ts'])
    expect(findWallClockBreaches([parseSource(path, text)])).toEqual([])
})
