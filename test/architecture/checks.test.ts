import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './repository.ts'

/** Runs a tool of node_modules/.bin over the checkout; what it prints becomes the message of the failure. */
function run(tool: string, ...args: readonly string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync(join(root, 'node_modules/.bin', tool), args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { ok: status === 0, output: `${stdout}${stderr}${error?.message ?? ''}`.trim() }
}

function expectOk({ ok, output }: { readonly ok: boolean; readonly output: string }, mend: string): void {
  if (ok) return
  const error = new Error(`${mend}\n${output}`)
  delete error.stack // the reader needs the tool's words, not the place in this file
  throw error
}

test('types', () => expectOk(run('tsc', '--noEmit', '--pretty', 'false'), 'Types do not fit (npx tsc --noEmit):'))

test('lint', () => expectOk(run('oxlint', '--format=unix'), 'Lint (npx oxlint shows each place; --fix mends some):'))

test('format', () => expectOk(run('oxfmt', '--list-different'), 'Not formatted; npm run format mends it:'))

test('dead code', () =>
  expectOk(
    run('knip', '--no-config-hints', '--no-progress'),
    'Nobody uses these; delete them, or drop the export or the dependency:',
  ))

const fixtures = 'test/architecture/fixtures'

test('lint finds what is careless', () => {
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
