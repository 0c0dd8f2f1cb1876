import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

/** Serves the body as JSON at every path. @returns the address */
async function serveJson(body: unknown): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

test('a reader that closes the output early causes no error', async () => {
  const node = { alias: 'buyer', role: 'buyer', uri: `02${'ab'.repeat(32)}@buyer.sim:9735`, balance_sat: '1' }
  const url = await serveJson(Array.from({ length: 5000 }, () => node))
  const child = spawn(join(import.meta.dirname, 'main.ts'), ['sim', 'nodes'], {
    env: { ...process.env, PENSTOCK_URL: url, PENSTOCK_OPERATOR_TOKEN: 'token' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let errorText = ''
  child.stderr.on('data', (part: Buffer) => (errorText += part.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  expect({ code, complaint: errorText }).toEqual({ code: 0, complaint: '' })
})

test('the program exits with 1 and explains an invalid argument', () => {
  const run = () =>
    spawnSync(join(import.meta.dirname, 'main.ts'), ['sim', 'mine', 'x'], {
      encoding: 'utf8',
      env: { ...process.env, PENSTOCK_URL: 'http://127.0.0.1:1' },
    })
  expect(run()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/whole number/) as string })
})
