import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY_ROOT } from './repository.ts'
import { runProgramSync } from '../support/processes.ts'

/** Runs a tool of node_modules/.bin in the checkout, and returns its output for the failure message. */
function run(tool: string, ...args: readonly string[]): { readonly ok: boolean; readonly output: string } {
  const { code, stdout, stderr } = runProgramSync(join(REPOSITORY_ROOT, 'node_modules/.bin', tool), args, {
    cwd: REPOSITORY_ROOT,
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { ok: code === 0, output: `${stdout}${stderr}`.trim() }
}

function expectOk({ ok, output }: { readonly ok: boolean; readonly output: string }, fix: string): void {
  if (ok) return
  const error = new Error(`${fix}\n${output}`)
  delete error.stack // the reader needs the tool's output, not a line of this file
  throw error
}

test('the compiler finds no type error', () =>
  expectOk(run('tsc', '--noEmit', '--pretty', 'false'), 'Type errors (npx tsc --noEmit):'))

test('the linter finds no problem', () =>
  expectOk(run('oxlint', '--format=unix'), 'Lint problems (npx oxlint lists them; --fix corrects some):'))

test('every file is formatted', () =>
  expectOk(run('oxfmt', '--list-different'), 'Files that are not formatted (npm run format corrects them):'))

test('no file, export or dependency is unused', () =>
  expectOk(
    run('knip', '--no-config-hints', '--no-progress'),
    'Unused files, exports and dependencies; delete each, or remove the export keyword:',
  ))

const fixtures = 'test/architecture/fixtures'

test('the linter reports every problem of the careless fixture', () => {
  const { output } = run('oxlint', '--config', `${fixtures}/lint.json`, '--format=unix', `${fixtures}/careless.ts`)
  const rules = [...output.matchAll(/\/([a-z]+\([\w-]+\))\]/g)].map(([, rule]) => `${rule}`)
  expect(rules.toSorted()).toEqual([
    'eslint(no-unused-vars)',
    'typescript(consistent-type-imports)',
    'typescript(no-explicit-any)',
    'typescript(no-floating-promises)',
    'typescript(no-misused-promises)',
    'typescript(no-unsafe-member-access)',
    'typescript(no-unsafe-return)',
    'typescript(switch-exhaustiveness-check)',
  ])
})
