import express from 'express'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, test } from 'vitest'
import { startHttpServer, type ListeningServer } from './http-server.ts'

let server: ListeningServer
beforeAll(async () => {
  const app = express()
  app.post('/', express.text(), (_, response) => void response.send('done'))
  const timeouts = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 20 }
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 }, timeouts)
})
afterAll(() => server.close(0))

const slow: readonly (readonly [string, string])[] = [
  ['sends nothing', ''],
  ['never ends its headers', 'POST / HTTP/1.1\r\nhost: x\r\na: b\r\n'],
  ['never ends its body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nabc'],
]
test.each(slow)('a caller that %s gets status 408 and is disconnected', async (_, text) => {
  const socket = connect(server.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (part: string) => (answer += part))
  socket.write(text)
  await once(socket, 'end', { signal: AbortSignal.timeout(10_000) })
  assert.match(answer, /^HTTP\/1\.1 408 /)
  socket.destroy()
})

test('an idle connection stays open for longer than its keep-alive header says', async () => {
  const app = express()
  app.get('/', (_, response) => void response.send('done'))
  const idle = await startHttpServer(app, { host: '127.0.0.1', port: 0 }, { keepAliveTimeout: 1000, keepAliveTimeoutBuffer: 700 })
  const socket = connect(idle.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (part: string) => (answer += part))
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const sentMs = performance.now()
  await once(socket, 'end', { signal: AbortSignal.timeout(10_000) })
  assert.match(answer, /^keep-alive: timeout=1\r$/im)
  assert.ok(performance.now() - sentMs >= 1650, 'the server closed the connection too early')
  socket.destroy()
  await idle.close(0)
})
