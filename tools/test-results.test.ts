import { expect, test } from 'vitest'
import { type FileResults, retryFailedFiles } from './test-results.ts'

const passing: FileResults = { file: 'a.test.ts', ms: 5, passed: 3, skipped: [], failures: [] }
const failing: FileResults = { file: 'b.test.ts', ms: 7, passed: 1, skipped: [], failures: ['b.test.ts > x', 'b.test.ts > y'] }
const stray: FileResults = { file: '', ms: 0, passed: 0, skipped: [], failures: ['an error'] }

const retry = (second: readonly FileResults[], retried: string[] = []) =>
  retryFailedFiles([passing, failing, stray], (file) => {
    retried.push(file)
    return Promise.resolve(second)
  })

test('only files with failures run once more, and an error without a file stays a failure', async () => {
  const retried: string[] = []
  const { failures } = await retry([{ ...failing, passed: 3, failures: [] }], retried)
  expect(retried).toEqual(['b.test.ts'])
  expect(failures).toEqual(['an error'])
})

test('a test that passes at the second try is flaky, and counts once', async () => {
  const { passed, failures, flaky } = await retry([{ ...failing, passed: 2, failures: ['b.test.ts > y'] }])
  expect({ passed, failures: failures.toSorted(), flaky }).toEqual({
    passed: 5,
    failures: ['an error', 'b.test.ts > y'],
    flaky: ['b.test.ts > x'],
  })
})

test('a new failure of the second try is a failure', async () => {
  const { failures } = await retry([{ ...failing, failures: ['b.test.ts > z'] }])
  expect(failures).toContain('b.test.ts > z')
})

test('a second try that skips a failed test does not excuse it', async () => {
  const { failures, flaky } = await retry([{ ...failing, passed: 2, failures: [], skipped: ['b.test.ts > x: no server'] }])
  expect(failures).toContain('b.test.ts > x')
  expect(flaky).toEqual(['b.test.ts > y'])
})

test('a second try that skips the suite of a failed hook does not excuse the hook', async () => {
  const { failures } = await retryFailedFiles([{ ...failing, failures: ['b.test.ts > suite'] }], async () => [
    { ...failing, passed: 2, failures: [], skipped: ['b.test.ts > suite > x'] },
  ])
  expect(failures).toEqual(['b.test.ts > suite'])
})

test('a second try that runs no test does not excuse the first', async () => {
  const { passed, failures, flaky } = await retry([])
  expect({ passed, failures: failures.toSorted(), flaky }).toEqual({
    passed: 4,
    failures: ['an error', ...failing.failures],
    flaky: [],
  })
})
