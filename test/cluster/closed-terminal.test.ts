import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { startProgram } from '../support/processes.ts'

/** A launcher that prints every 10 ms. After 50 lines, a closed pipe must have affected it, and it creates the file. */
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
        tell('order/1', 'a line')
        console.error('another')
        if (++lines === 50) writeFileSync('${file}', '')
      }, 10)
      return { stop: async () => clearInterval(talking) }
    },
  })
`

test('a launcher keeps running after its output pipes close, and stops when its terminal closes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-unheard-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'lives')
  const args = ['--no-warnings', '--input-type=module-typescript', '--eval', launcher(file)]
  const { child, output } = startProgram(process.execPath, args, { cwd: import.meta.dirname })
  const ended = once(child, 'exit')
  await waitUntil('it says something', () => output() !== '', 30_000)
  child.stdout?.destroy()
  child.stderr?.destroy()
  await waitUntil('it has said much', () => existsSync(file) || child.exitCode !== null, 30_000)
  expect(child.exitCode).toBeNull()
  child.kill('SIGHUP')
  expect(await ended).toEqual([0, null])
})
