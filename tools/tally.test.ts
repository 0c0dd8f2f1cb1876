import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Tally, tallyVariable } from './tally.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-tally-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What the tally says of a run of these test files by a real vitest. */
function tallyOf(files: Readonly<Record<string, string>>): Tally {
  const root = mkdtempSync(join(folder, 'run-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
  const tallyFile = join(root, 'tally.json')
  const reporter = `import { tallyReporter } from '${join(import.meta.dirname, 'tally.ts')}'`
  writeFileSync(
    join(root, 'vitest.config.ts'),
    `${reporter}\nexport default { test: { globals: true, reporters: [tallyReporter] } }`,
  )
  const vitest = join(import.meta.dirname, '../node_modules/.bin/vitest')
  spawnSync(vitest, ['run', '--root', root], { env: { ...process.env, [tallyVariable]: tallyFile } })
  return JSON.parse(readFileSync(tallyFile, 'utf8')) as Tally // written by tally.ts
}

test('tests are counted, and skipped ones named with their reason', () => {
  const text = `
    test('right', () => {})
    test('wrong', () => { throw new Error('wrong') })
    describe('pages', () => test('later', (context) => context.skip('no Chromium here')))
    test.skip('never', () => {})`
  expect(tallyOf({ 'a.test.js': text })).toEqual({
    passed: 1,
    failed: 1,
    skipped: ['a.test.js > pages > later: no Chromium here', 'a.test.js > never'],
  })
})

test('what breaks outside of a test is a failure too', () => {
  const broken = {
    'unloadable.test.js': `import './missing.js'`,
    'hook.test.js': `describe('h', () => { beforeAll(() => { throw new Error('hook') }); test('x', () => {}) })`,
    'stray.test.js': `test('right', async () => { void Promise.reject(new Error('stray')); await new Promise((r) => setImmediate(r)) })`,
  }
  expect(tallyOf(broken)).toMatchObject({ passed: 1, failed: 3 })
})
