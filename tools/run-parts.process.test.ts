import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runSuccessfully } from '../test/support/processes.ts'
import type { TestResults } from './test-results.ts'

const repository = join(import.meta.dirname, '..')
// In the checkout, so that the tests in this folder find the package vitest.
const cache = join(repository, 'node_modules/.cache/penstock')
mkdirSync(cache, { recursive: true })
const root = mkdtempSync(join(cache, 'run-parts-'))
afterAll(() => rmSync(root, { recursive: true }))

const IMPORT = `import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
const isSecondTry = existsSync(import.meta.filename + '.ran')
writeFileSync(import.meta.filename + '.ran', '')
`
const FILES = {
  'passes.test.ts': "test('a', () => undefined)\ntest.skip('b', () => undefined)",
  'fails.test.ts': "test('c', () => expect(1).toBe(2))",
  'flaky.test.ts': "test('d', () => expect(isSecondTry).toBe(true))\ntest('e', () => undefined)",
  'dies.test.ts': "test('f', () => { if (!isSecondTry) process.kill(process.pid, 'SIGKILL') })",
  'hook.test.ts': "afterAll(() => { if (!isSecondTry) throw new Error('hook') })\ntest('g', () => undefined)",
  'stray.test.ts':
    "test('h', async () => { if (!isSecondTry) setTimeout(() => { throw new Error('stray') }, 0)\n await new Promise((resolve) => setTimeout(resolve, 100)) })",
  'teardown.test.ts': "test('i', () => undefined)",
  'setup.ts': "export default () => () => { throw new Error('teardown') }",
}
for (const [name, text] of Object.entries(FILES)) writeFileSync(join(root, name), name === 'setup.ts' ? text : IMPORT + text)
writeFileSync(
  join(root, 'vitest.config.ts'),
  `export default { test: { projects: [
    { test: { name: 'tests', include: ['*.test.ts'], exclude: ['teardown.test.ts'], pool: 'forks' } },
    { test: { name: 'teardown', include: ['teardown.test.ts'], globalSetup: './setup.ts' } },
  ] } }`,
)

/** Runs the parts in a process of its own, because vitest cannot run in its own worker. */
async function run(part: string, options: { readonly retriesFailedFiles: boolean }): Promise<TestResults> {
  const script = `
    import { runParts } from ${JSON.stringify(join(repository, 'tools/run-parts.ts'))}
    const results = await runParts([{ name: '${part}' }], { root: ${JSON.stringify(root)}, retriesFailedFiles: ${options.retriesFailedFiles} })
    console.log('\\n' + JSON.stringify(results))
    process.exitCode = 0`
  const { stdout } = await runSuccessfully(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    cwd: repository,
  })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as TestResults // The script printed it.
}

const BROKEN = ['dies.test.ts did not run to its end', 'hook.test.ts', 'stray.test.ts has an error outside of its tests']

test('a part counts tests, and failures outside of tests; a second try finds the flaky tests', { timeout: 240_000 }, async () => {
  const { passed, skipped, failures, files } = await run('tests', { retriesFailedFiles: false })
  expect(failures.toSorted()).toEqual([...BROKEN, 'fails.test.ts > c', 'flaky.test.ts > d'].toSorted())
  expect({ passed, skipped }).toEqual({ passed: 4, skipped: ['passes.test.ts > b'] })
  expect(files.map(({ file }) => file).toSorted()).toEqual(
    Object.keys(FILES)
      .filter((name) => /^(?!teardown).*test/.test(name))
      .toSorted(),
  )

  for (const name of Object.keys(FILES)) rmSync(join(root, `${name}.ran`), { force: true })
  const second = await run('tests', { retriesFailedFiles: true })
  expect(second.failures).toEqual(['fails.test.ts > c'])
  expect(second.flaky.toSorted()).toEqual([...BROKEN, 'flaky.test.ts > d'].toSorted())
  expect(second.passed).toBe(6)
})

test('a failed teardown is a failure', { timeout: 240_000 }, async () => {
  const { passed, failures } = await run('teardown', { retriesFailedFiles: false })
  expect({ passed, failures }).toEqual({ passed: 1, failures: ['a server or a setup that could not be stopped'] })
})
