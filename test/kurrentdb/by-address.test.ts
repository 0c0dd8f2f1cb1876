import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { tallyVariable } from '../../tools/tally.ts'
import { startDouble } from './double/process.ts'

const root = join(import.meta.dirname, '../..')

async function runReal(env: Readonly<Record<string, string>>): Promise<{ readonly exit: unknown; readonly said: string }> {
  const vitest = spawn(join(root, 'node_modules/.bin/vitest'), ['run', 'test/kurrentdb/real.test.ts'], {
    cwd: root,
    // Its tests are one of this run's.
    env: { ...process.env, NO_COLOR: '1', [tallyVariable]: undefined, ...env },
  })
  let said = ''
  for (const stream of [vitest.stdout, vitest.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [exit] = (await once(vitest, 'close')) as [unknown]
  return { exit, said }
}

it('the suites on a real server run by its address, and say against which server and version', async () => {
  const double = await startDouble()
  onTestFinished(() => double.stop())
  const { exit, said } = await runReal({
    PENSTOCK_TEST_KURRENTDB_URL: double.url,
    PENSTOCK_TEST_KURRENTDB_RESTART: `kill -USR2 ${double.pid()}`,
  })
  const [, server] = /\/\/([^?]+)/.exec(double.url) ?? []
  expect(said).toContain(`The suites on a real server run against version 26.1.0 at ${server}.`)
  expect([exit, /Tests .*/.exec(said)?.[0]]).toEqual([0, expect.stringMatching(/^Tests +25 passed \(25\)/)])
})
