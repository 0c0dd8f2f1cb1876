import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startDoubleProcess } from './double/process.ts'
import { startProgram } from '../support/processes.ts'

const root = join(import.meta.dirname, '../..')

async function runReal(env: Readonly<Record<string, string>>): Promise<{ readonly exit: unknown; readonly said: string }> {
  const { output, ended } = startProgram(join(root, 'node_modules/.bin/vitest'), ['run', 'test/kurrentdb/real.test.ts'], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  return { exit: (await ended).code, said: output() }
}

it('the suites for a real server run at a configured address, and print the server and its version', async () => {
  const double = await startDoubleProcess()
  onTestFinished(() => double.stop())
  const { exit, said: output } = await runReal({
    PENSTOCK_TEST_KURRENTDB_URL: double.url,
    PENSTOCK_TEST_KURRENTDB_RESTART: `kill -USR2 ${double.pid()}`,
  })
  const [, server] = /\/\/([^?]+)/.exec(double.url) ?? []
  expect(output).toContain(`The suites on a real server run against version 26.1.0 at ${server}.`)
  expect([exit, /Tests .*/.exec(output)?.[0]]).toEqual([0, expect.stringMatching(/^Tests +26 passed \(26\)/)])
})
