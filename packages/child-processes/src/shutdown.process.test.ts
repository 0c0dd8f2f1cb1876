import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'vitest'

const child = (thrown: string): string => `
  import { Fault } from '@penstock/kernel/result.ts'
  import { closeOnSignal } from '${join(import.meta.dirname, 'shutdown.ts')}'
  closeOnSignal(async () => { ${thrown} })
  setInterval(() => undefined, 1000)
  console.log('ready')
`

test.each([
  ['SIGTERM', '', 0],
  ['SIGINT', '', 0],
  ['SIGHUP', '', 0],
  ['SIGTERM', "throw new Fault('the database is starting up')", 0],
  ['SIGTERM', "throw new Error('something is wrong')", 1],
] as const)('a process that gets %s, and runs %j when it closes, exits with %i', async (signal, thrown, code) => {
  const args = ['--no-warnings', '--input-type=module-typescript', '--eval', child(thrown)]
  const started = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(started.stdout, 'data')
  started.kill(signal)
  assert.deepEqual(await once(started, 'exit'), [code, null])
})
