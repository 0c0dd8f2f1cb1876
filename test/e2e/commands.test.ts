import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test.each(['faults/main.ts', 'simulation/main.ts', 'mutants/main.ts', 'hostile/main.ts'])(
  'a command that looks for faults says how it is used: test/%s',
  (file) => {
    const told = (...options: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', join(root, 'test', file), ...options], {
        encoding: 'utf8',
      })
      return { status, stdout, stderr }
    }
    expect(told('--help')).toEqual({ status: 0, stdout: expect.stringContaining('npm run ') as string, stderr: '' })
    // 1 would say that it has found a fault.
    const wrong = told('--no-such-option')
    expect(wrong).toMatchObject({ status: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/^Unknown option '--no-such-option'.*\n.*npm run /)
    expect(wrong.stderr).not.toMatch(/\n {4}at /)
  },
)
