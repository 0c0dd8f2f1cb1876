import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepRunning, stateOf } from '@penstock/cluster/launcher/child.ts'
import { openDoor } from '@penstock/cluster/launcher/door.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { until } from '@penstock/testkit/until.ts'
import { onTestFinished, test } from 'vitest'

async function scriptThatSays(line: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-child-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const script = join(folder, 'child.mjs')
  await writeFile(script, `console.log(\`${line}\`); setInterval(() => {}, 1000)`)
  return script
}

test('a process that cannot be started is tried again, and the launcher lives', async () => {
  const script = await scriptThatSays('here')
  const { execPath } = process
  onTestFinished(() => void (process.execPath = execPath))
  process.execPath = '/nowhere/node'
  const told: string[] = []
  const child = keepRunning({ name: 'order', replica: 1, script, args: [], env: {} }, (line) => void told.push(line))
  const tries = () => told.filter((line) => line.includes('could not be started')).length
  await until('two tries', () => tries() >= 2)
  assert.equal(child.pid, undefined)

  process.execPath = execPath
  await until('it runs', () => told.includes('order/1  here'))
  assert.notEqual(child.pid, undefined)
  await child.stop()
  assert.equal(child.pid, undefined)
})

test('a process that ends is started again', async () => {
  const told: string[] = []
  const script = await scriptThatSays('here')
  const child = keepRunning({ name: 'order', replica: 1, script, args: [], env: {} }, (line) => void told.push(line))
  const begun = () => told.filter((line) => line === 'order/1  here').length
  await until('it runs', () => begun() === 1)
  process.kill(child.pid ?? 0, 'SIGKILL')
  await until('it runs again', () => begun() === 2)
  assert.ok(told.includes('order/1  ended with SIGKILL; it is started again'))
  await child.stop()
})

test('a process whose port somebody else took is started again on another, and what answers there is not taken for it', async () => {
  const port = await freePort()
  const stranger = createServer((_, response) => response.end('{"pid":1,"handled":7}'))
  onTestFinished(() => void stranger.close())
  await once(stranger.listen(port, '127.0.0.1'), 'listening')
  const env = { PENSTOCK_HEALTH_PORT: `${port}` }
  const script = await scriptThatSays('${process.env.PENSTOCK_HEALTH_PORT}')
  const told: string[] = []
  const child = keepRunning({ name: 'order', replica: 1, script, args: [], env }, (line) => void told.push(line))
  onTestFinished(() => child.stop())
  await until('it runs', () => told.includes(`order/1  ${port}`))
  assert.equal(await stateOf(child), undefined)
  assert.deepEqual(await stateOf({ pid: 1, healthUrl: child.healthUrl }), { isReady: true, handled: 7 })

  process.kill(child.pid ?? 0, 'SIGKILL')
  await until('it runs on another', () => /^order\/1 {2}\d+$/.test(told.at(-1) ?? '') && told.at(-1) !== `order/1  ${port}`)
  assert.equal(child.healthUrl, `http://127.0.0.1:${told.at(-1)?.slice('order/1  '.length)}`)
})

test('a data folder whose path is too long for a socket is refused with a sentence', async () => {
  const path = join(tmpdir(), 'x'.repeat(100), 'cluster.sock')
  await assert.rejects(
    openDoor(path, async () => undefined),
    /PENSTOCK_DATA_DIR.*of at most \d+ characters/,
  )
})
