import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { FakeBtcd } from './fake-btcd.fixture.ts'

test('an idle connection does not keep the process running', async () => {
  const node = new FakeBtcd()
  await node.listen()
  onTestFinished(() => node.close())
  const module = new URL('websocket-transport.ts', import.meta.url).href
  const program = `import { createWebSocketTransport } from ${JSON.stringify(module)}
    console.log((await createWebSocketTransport({ url: ${JSON.stringify(node.url())} })({ method: 'last', params: [] })).result)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '-e', program])
  expect(stdout.trim()).toBe('last')
  expect(node.sockets.length).toBe(1)
})
