import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

const told = (file: string, ...options: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', join(root, file), ...options], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test.each([
  'test/faults/main.ts',
  'test/faults/cluster/main.ts',
  'test/faults/lightning/main.ts',
  'test/simulation/main.ts',
  'test/mutants/main.ts',
  'test/hostile/main.ts',
  'bench/src/main.ts',
  'bench/src/growth.ts',
  'bench/src/cluster.ts',
  'bench/src/lightning.ts',
])('a command that looks for faults, or measures, says how it is used: %s', (file) => {
  expect(told(file, '--help')).toEqual({ status: 0, stdout: expect.stringContaining('npm run ') as string, stderr: '' })
  // 1 would say that it has found a fault.
  const wrong = told(file, '--no-such-option')
  expect(wrong).toMatchObject({ status: 2, stdout: '' })
  expect(wrong.stderr).toMatch(/^Unknown option '--no-such-option'.*\n.*npm run /)
  expect(wrong.stderr).not.toMatch(/\n {4}at /)
})

test.each([
  ['test/simulation/main.ts', ['--seed', 'abc']],
  ['test/simulation/main.ts', ['--plan', '/nowhere/plan.json']],
  ['test/simulation/main.ts', ['--plan', join(root, 'package.json')]],
  ['test/hostile/main.ts', ['--runs', 'many']],
  ['bench/src/main.ts', ['nothing']],
  ['bench/src/growth.ts', ['many']],
  ['bench/src/growth.ts', ['10', '20']],
])('what cannot be done is no fault that was found: %s %j', (file, options) => {
  const { status, stderr } = told(file, ...options)
  expect(status).toBe(2)
  expect(stderr).toContain('npm run ')
  expect(stderr).not.toMatch(/\n {4}at /)
})
