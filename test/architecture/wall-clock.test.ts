import { expect, test } from 'vitest'
import { expectNone } from './report.ts'
import { sources } from './repository.ts'
import { source } from './source.ts'
import { unusedExceptions, wallClockBreaches } from './wall-clock.ts'

test('durations are measured by the monotonic clock', () => expectNone(wallClockBreaches(sources)))

test('each exception is one', () => expectNone(unusedExceptions(sources)))

const FILE = 'packages/runtime/src/any.ts'

test.each([
  'const isOld = clock.now() - since > LIMIT_MS',
  'const until = basics.clock.now() + TIMEOUT_MS',
  'if (clock.now() >= until) give()',
  'while (until > clock.now()) look()',
  'const leftMs = until - ports.clock.now()',
  'const began = Date.now()',
])('breaks the rule: %s', (line) => {
  expect(wallClockBreaches([source(FILE, line)])).toEqual([expect.stringContaining(`${FILE}:1 reckons with the wall clock`)])
})

test.each([
  'const isOld = clock.monotonicMs() - since > LIMIT_MS',
  'const now = (): number => clock.now()',
  'const at = clock.now()',
  'const leftMs = end - performance.now()',
])('keeps the rule: %s', (line) => {
  expect(wallClockBreaches([source(FILE, line)])).toEqual([])
})

test('tests and listed places may reckon with the wall clock', () => {
  const text = 'const began = Date.now()'
  for (const path of ['packages/runtime/src/any.test.ts', 'packages/adapters/src/system/clock.ts', 'tools/any.ts'])
    expect(wallClockBreaches([source(path, text)])).toEqual([])
})
