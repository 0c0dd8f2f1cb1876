import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type TestCounts, countsFileVariable } from './count-reporter.ts'
import { runProgramSync } from '../test/support/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-counts-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs test files in a real vitest. @returns the reporter's counts */
function countTestsOf(files: Readonly<Record<string, string>>): TestCounts {
  const root = mkdtempSync(join(folder, 'run-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  const countsFile = join(root, 'counts.json')
  const reporter = `import { countReporter } from '${join(import.meta.dirname, 'count-reporter.ts')}'`
  writeFileSync(
    join(root, 'vitest.config.ts'),
    `${reporter}\nexport default { test: { globals: true, reporters: [countReporter] } }`,
  )
  const vitest = join(import.meta.dirname, '../node_modules/.bin/vitest')
  runProgramSync(vitest, ['run', '--root', root], { env: { ...process.env, [countsFileVariable]: countsFile } })
  return JSON.parse(readFileSync(countsFile, 'utf8')) as TestCounts // written by count-reporter.ts
}

test('the reporter counts tests, and lists skipped tests with their reasons', () => {
  const text = `
    test('right', () => {})
    test('wrong', () => { throw new Error('wrong') })
    describe('pages', () => test('later', (context) => context.skip('no Chromium here')))
    test.skip('never', () => {})`
  expect(countTestsOf({ 'a.test.js': text })).toEqual({
    passed: 1,
    failed: 1,
    skipped: ['a.test.js > pages > later: no Chromium here', 'a.test.js > never'],
    failures: ['a.test.js > wrong'],
    files: [{ file: 'a.test.js', ms: expect.any(Number) as number }],
  })
})

test('an error outside of a test counts as a failed test', () => {
  const broken = {
    'unloadable.test.js': `import './missing.js'`,
    'hook.test.js': `describe('h', () => { beforeAll(() => { throw new Error('hook') }); test('x', () => {}) })`,
    'stray.test.js': `test('right', async () => { void Promise.reject(new Error('stray')); await new Promise((r) => setImmediate(r)) })`,
  }
  const { passed, failed, failures } = countTestsOf(broken)
  expect({ passed, failed }).toEqual({ passed: 1, failed: 3 })
  expect(failures.toSorted()).toEqual(['errors that belong to no test: 1', 'hook.test.js > h', 'unloadable.test.js'])
})
