import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@penstock/testkit/until.ts'
import { expect, onTestFinished, test } from 'vitest'

/** Talks all the time, and makes a file once it has talked for so long that a reader who is gone would be noticed. */
const launcher = (file: string): string => `
  import { writeFileSync } from 'node:fs'
  import { runLauncher } from '@penstock/cluster/launcher/run-launcher.ts'
  let lines = 0
  await runLauncher({
    env: {},
    what: 'It',
    begins: 'begins',
    stops: 'stops',
    banner: () => 'runs',
    async launch(config, tell) {
      const talking = setInterval(() => {
        tell('a line')
        console.error('another')
        if (++lines === 50) writeFileSync('${file}', '')
      }, 10)
      return { stop: async () => clearInterval(talking) }
    },
  })
`

test('a launcher goes on when nobody reads what it says, and stops when its terminal is closed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-unheard-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'lives')
  const args = ['--no-warnings', '--input-type=module-typescript', '--eval', launcher(file)]
  const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  child.stdout.destroy()
  child.stderr.destroy()
  await until('it has said much', () => existsSync(file) || child.exitCode !== null, 30_000)
  expect(child.exitCode).toBeNull()
  child.kill('SIGHUP')
  expect(await ended).toEqual([0, null])
})
