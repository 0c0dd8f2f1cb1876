import { waitUntil } from '@penstock/testkit/wait-until.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { limitSlowReaders } from './slow-reader.ts'

const TIMEOUT_MS = 600
const LONG_BODY = Buffer.alloc(40_000_000, 'x')
const OK_STATUS_LINE = 'HTTP/1.1 200 OK'

let [running, maxRunning, handled] = [0, 0, 0]
const app: RequestListener = ({ url = '' }, response) => {
  handled += 1
  maxRunning = Math.max(maxRunning, ++running)
  const answer = (): void => {
    running -= 1
    response.end(url === '/long' ? LONG_BODY : url)
  }
  if (url === '/late') setTimeout(answer, 2 * TIMEOUT_MS)
  else setImmediate(answer)
}
const server = createServer({ keepAliveTimeout: 100 })
limitSlowReaders(server, app, TIMEOUT_MS)
let port = 0
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port // it listens on TCP
})
afterEach(() => {
  ;[running, maxRunning, handled] = [0, 0, 0]
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const formatRequest = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`
const CLOSE_HEADER = 'connection: close\r\n'
const connections = () =>
  new Promise<number>((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
const waitForNoConnection = () => waitUntil('no connection is open', async () => (await connections()) === 0)

function openRequest(text: string): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(text)
  return socket
}
async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) })
  return text
}

test('a client that reads nothing of an answer is disconnected', async () => {
  const socket = openRequest(formatRequest('/long', CLOSE_HEADER))
  await waitUntil('the request is handled', () => handled === 1)
  await waitForNoConnection()
  assert.ok((await readAll(socket)).length < LONG_BODY.length)
})

test('a client that reads at intervals gets the whole answer, even if that takes longer than the timeout', async () => {
  const socket = openRequest(formatRequest('/long', CLOSE_HEADER))
  const startedMs = performance.now()
  let bytes = 0
  let sincePause = 0
  socket.on('data', (part: Buffer) => {
    bytes += part.length
    sincePause += part.length
    if (sincePause < LONG_BODY.length / 10) return
    sincePause = 0
    socket.pause()
    setTimeout(() => socket.resume(), TIMEOUT_MS / 3)
  })
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) })
  assert.ok(bytes > LONG_BODY.length, `${bytes}`)
  assert.ok(performance.now() - startedMs > 2 * TIMEOUT_MS)
})

test('an answer may begin later than the slow-reader timeout', async () => {
  assert.ok((await readAll(openRequest(formatRequest('/late', CLOSE_HEADER)))).startsWith(OK_STATUS_LINE))
})

test('an idle kept-alive connection is closed', async () => {
  const socket = openRequest(formatRequest('/'))
  await waitUntil('the request is handled', () => handled === 1)
  await waitForNoConnection()
  assert.match(await readAll(socket), /^HTTP\/1\.1 200 /)
})

test('the requests of one connection are handled one at a time, and answered in their order', async () => {
  const paths = Array.from({ length: 200 }, (_, at) => `/${at}`)
  const text = await readAll(
    openRequest(paths.map((path) => formatRequest(path)).join('') + formatRequest('/last', CLOSE_HEADER)),
  )
  assert.deepEqual(
    [...text.matchAll(/\r\n\r\n(\/\w+?)(?=HTTP|$)/g)].map(([, path]) => path),
    [...paths, '/last'],
  )
  assert.deepEqual([handled, maxRunning], [201, 1])
})

test('a connection that sends a thousand requests at once is closed after at most 256 of them', async () => {
  const text = await readAll(openRequest(formatRequest('/').repeat(1000)))
  assert.ok(handled <= 256, `${handled}`)
  assert.ok(text.split('HTTP/1.1 ').length - 1 <= 256)
  await waitForNoConnection()
})

test('a stalled connection does not delay other connections', async () => {
  const stalled = openRequest(formatRequest('/long').repeat(50))
  const answers = await Promise.all(Array.from({ length: 20 }, () => readAll(openRequest(formatRequest('/', CLOSE_HEADER)))))
  assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')))
  stalled.destroy()
  await waitForNoConnection()
})
