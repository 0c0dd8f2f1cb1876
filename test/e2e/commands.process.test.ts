import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgramSync } from '../support/processes.ts'

const root = join(import.meta.dirname, '../..')

/** Runs the script of an npm command. */
const runScript = (file: string, ...options: readonly string[]) => {
  const { code: status, stdout, stderr } = runProgramSync(process.execPath, ['--no-warnings', join(root, file), ...options])
  return { status, stdout, stderr }
}

test.each([
  'test/chaos/main.ts',
  'test/chaos/cluster/main.ts',
  'test/chaos/lightning/main.ts',
  'test/simulation/main.ts',
  'test/mutants/main.ts',
  'test/fuzz/main.ts',
  'bench/src/main.ts',
  'bench/src/growth.ts',
  'bench/src/cluster.ts',
  'bench/src/lightning.ts',
])('a test or benchmark command prints its usage for --help, and exits with 2 for an unknown option: %s', (file) => {
  expect(runScript(file, '--help')).toEqual({ status: 0, stdout: expect.stringContaining('npm run ') as string, stderr: '' })
  // Exit code 1 means that the command found a fault in the product.
  const refused = runScript(file, '--no-such-option')
  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^Unknown option '--no-such-option'.*\n.*npm run /)
  expect(refused.stderr).not.toMatch(/\n {4}at /)
})

test.each([
  ['test/simulation/main.ts', ['--seed', 'abc']],
  ['test/simulation/main.ts', ['--plan', '/nowhere/plan.json']],
  ['test/simulation/main.ts', ['--plan', join(root, 'package.json')]],
  ['test/fuzz/main.ts', ['--runs', 'many']],
  ['bench/src/main.ts', ['nothing']],
  ['bench/src/growth.ts', ['many']],
  ['bench/src/growth.ts', ['10', '20']],
])('a command with invalid options exits with 2, because 1 means that it found a fault: %s %j', (file, options) => {
  const { status, stderr } = runScript(file, ...options)
  expect(status).toBe(2)
  expect(stderr).toContain('npm run ')
  expect(stderr).not.toMatch(/\n {4}at /)
})
