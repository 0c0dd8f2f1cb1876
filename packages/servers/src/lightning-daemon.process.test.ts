import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createDaemon, waitForResult } from './lightning-daemon.ts'

test('an aborted start ends a program that never serves, and does not retry', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'penstock-daemon-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const silent = createDaemon('silent', process.execPath, dir, ['-e', 'setInterval(() => {}, 1000)'], async () => false)
  onTestFinished(() => silent.kill())
  const abort = new AbortController()
  const starting = silent.start(abort.signal)
  const pid = await waitForResult('it runs', async () => silent.pid)
  abort.abort()
  await expect(starting).rejects.toThrow(/aborted/)
  expect(silent.pid).toBe(undefined)
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)
})
