import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { superviseProcess, readProcessState } from '@penstock/cluster/launcher/process-supervisor.ts'
import { openControlSocket } from '@penstock/cluster/launcher/control-socket.ts'
import { findUserCompileCache } from '@penstock/runtime/compile-cache.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { onTestFinished, test } from 'vitest'

async function createScript(line: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-child-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const script = join(folder, 'child.mjs')
  await writeFile(script, `console.log(\`${line}\`); setInterval(() => {}, 1000)`)
  return script
}

test('the launcher retries a process that cannot be started, and keeps running', async () => {
  const script = await createScript('here')
  const { execPath } = process
  onTestFinished(() => void (process.execPath = execPath))
  process.execPath = '/nowhere/node'
  const output: string[] = []
  const child = superviseProcess(
    { name: 'order', replica: 1, script, args: [], env: {} },
    (processName, line) => void output.push(`${processName}  ${line}`),
  )
  const tries = () => output.filter((line) => line.includes('could not be started')).length
  await waitUntil('two tries', () => tries() >= 2)
  assert.equal(child.pid, undefined)

  process.execPath = execPath
  await waitUntil('the process runs', () => output.includes('order/1  here'))
  assert.notEqual(child.pid, undefined)
  await child.stop()
  assert.equal(child.pid, undefined)
})

test('the launcher restarts a process that ends', async () => {
  const output: string[] = []
  const script = await createScript('here')
  const child = superviseProcess(
    { name: 'order', replica: 1, script, args: [], env: {} },
    (processName, line) => void output.push(`${processName}  ${line}`),
  )
  const countStarts = () => output.filter((line) => line === 'order/1  here').length
  await waitUntil('the process runs', () => countStarts() === 1)
  process.kill(child.pid ?? 0, 'SIGKILL')
  await waitUntil('the process runs again', () => countStarts() === 2)
  assert.ok(output.includes('order/1  ended with SIGKILL; restarting'))
  await child.stop()
})

test('a process of the launcher caches compiled modules in the user’s folder or in NODE_COMPILE_CACHE', async () => {
  const printFolder = async (env: Record<string, string>): Promise<string | undefined> => {
    const output: string[] = []
    const script = await createScript('modules in ${process.env.NODE_COMPILE_CACHE}')
    const child = superviseProcess({ name: 'order', replica: 1, script, args: [], env }, (_name, line) => void output.push(line))
    await waitUntil('the process prints its folder', () => output.length > 0)
    await child.stop()
    return output[0]
  }
  assert.equal(await printFolder({}), `modules in ${process.env['NODE_COMPILE_CACHE'] ?? findUserCompileCache()}`)
  const named = await mkdtemp(join(tmpdir(), 'penstock-compiled-'))
  onTestFinished(() => rm(named, { recursive: true }))
  assert.equal(await printFolder({ NODE_COMPILE_CACHE: named }), `modules in ${named}`)
})

const FAST_TIMING = { intervalMs: 50, answerMs: 1000, maxMissingAnswers: 3, maxMissingAnswersAtStart: 400 }

test.each([
  ['hangs after it has answered health checks', '', 'if (++requests > 3) for (;;);', { ...FAST_TIMING }],
  ['never answers a health check', 'for (;;);', '', { ...FAST_TIMING, maxMissingAnswersAtStart: 40 }],
])('the launcher reports, kills and restarts a process that %s', async (_, onStart, onRequest, limits) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-child-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [script, mark] = [join(folder, 'child.mjs'), join(folder, 'began')]
  // The script hangs only in its first run.
  const text = `
    import { createServer } from 'node:http'
    import { existsSync, writeFileSync } from 'node:fs'
    const isFirst = !existsSync(${JSON.stringify(mark)})
    writeFileSync(${JSON.stringify(mark)}, '')
    console.log('begins')
    let requests = 0
    if (isFirst) { ${onStart} }
    const server = createServer((_, response) => {
      if (isFirst) { ${onRequest} }
      response.end(JSON.stringify({ pid: process.pid, handled: 0 }))
    })
    server.listen(Number(process.env.PENSTOCK_HEALTH_PORT), '127.0.0.1')`
  await writeFile(script, text)
  const env = { PENSTOCK_HEALTH_PORT: `${await findFreePort()}` }
  const output: string[] = []
  const addLine = (processName: string, line: string): void => void output.push(`${processName}  ${line}`)
  const child = superviseProcess({ name: 'order', replica: 1, script, args: [], env }, addLine, limits)
  onTestFinished(() => child.stop())
  const countStarts = () => output.filter((line) => line === 'order/1  begins').length
  await waitUntil(
    'the restarted process answers',
    async () => countStarts() >= 2 && (await readProcessState(child)) !== undefined,
    120_000,
    50,
  )
  assert.match(
    output.find((line) => line.includes('hangs')) ?? '',
    /^order\/1 {2}has not answered \d+ times in a row; it hangs and is killed$/,
  )
  assert.ok(output.includes('order/1  ended with SIGKILL; restarting'))
})

test('the launcher restarts a process on another health port if a different program answers at its health port', async () => {
  const port = await findFreePort()
  const otherProgram = createServer((_, response) => response.end('{"pid":1,"handled":7}'))
  onTestFinished(() => void otherProgram.close())
  await once(otherProgram.listen(port, '127.0.0.1'), 'listening')
  const env = { PENSTOCK_HEALTH_PORT: `${port}` }
  const script = await createScript('${process.env.PENSTOCK_HEALTH_PORT}')
  const output: string[] = []
  const child = superviseProcess(
    { name: 'order', replica: 1, script, args: [], env },
    (processName, line) => void output.push(`${processName}  ${line}`),
  )
  onTestFinished(() => child.stop())
  await waitUntil('the process runs', () => output.includes(`order/1  ${port}`))
  assert.equal(await readProcessState(child), undefined)
  assert.deepEqual(await readProcessState({ pid: 1, healthUrl: child.healthUrl }), { isReady: true, handled: 7 })

  process.kill(child.pid ?? 0, 'SIGKILL')
  await waitUntil(
    'the process runs on another port',
    () => /^order\/1 {2}\d+$/.test(output.at(-1) ?? '') && output.at(-1) !== `order/1  ${port}`,
  )
  assert.equal(child.healthUrl, `http://127.0.0.1:${output.at(-1)?.slice('order/1  '.length)}`)
})

test('a data folder whose path is too long for a socket is rejected with an error message', async () => {
  const path = join(tmpdir(), 'x'.repeat(100), 'cluster.sock')
  await assert.rejects(
    openControlSocket(path, async () => undefined),
    /PENSTOCK_DATA_DIR.*of at most \d+ characters/,
  )
})
