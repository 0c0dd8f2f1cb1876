import { until } from '@penstock/testkit/until.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { mindUnread } from './unread.ts'

const UNREAD_MS = 600
const LONG = Buffer.alloc(40_000_000, 'x')
const LATE = 'HTTP/1.1 200 OK'

let [running, most, taken] = [0, 0, 0]
const app: RequestListener = ({ url = '' }, response) => {
  taken += 1
  most = Math.max(most, ++running)
  const answer = (): void => {
    running -= 1
    response.end(url === '/long' ? LONG : url)
  }
  if (url === '/late') setTimeout(answer, 2 * UNREAD_MS)
  else setImmediate(answer)
}
const server = createServer({ keepAliveTimeout: 100 })
mindUnread(server, app, UNREAD_MS)
let port = 0
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port // it listens on TCP
})
afterEach(() => {
  ;[running, most, taken] = [0, 0, 0]
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const asks = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
const LAST = 'connection: close\r\n'
const connections = () =>
  new Promise<number>((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
const noneIsOpen = () => until('no connection is open', async () => (await connections()) === 0)

function ask(text: string): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(text)
  return socket
}
async function allOf(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) })
  return text
}

test('who takes nothing of an answer is cut off', async () => {
  const socket = ask(asks('/long', LAST))
  await until('the answer is sent', () => taken === 1)
  await noneIsOpen()
  assert.ok((await allOf(socket)).length < LONG.length)
})

test('who takes some of it now and then gets all of it, however long that takes', async () => {
  const socket = ask(asks('/long', LAST))
  const began = performance.now()
  let bytes = 0
  let some = 0
  socket.on('data', (part: Buffer) => {
    bytes += part.length
    some += part.length
    if (some < LONG.length / 10) return
    some = 0
    socket.pause()
    setTimeout(() => socket.resume(), UNREAD_MS / 3)
  })
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) })
  assert.ok(bytes > LONG.length, `${bytes}`)
  assert.ok(performance.now() - began > 2 * UNREAD_MS)
})

test('an answer may take longer to begin', async () => {
  assert.ok((await allOf(ask(asks('/late', LAST)))).startsWith(LATE))
})

test('a connection that is kept for nothing ends', async () => {
  const socket = ask(asks('/'))
  await until('it is answered', () => taken === 1)
  await noneIsOpen()
  assert.match(await allOf(socket), /^HTTP\/1\.1 200 /)
})

test('requests of one connection are taken one after the other, and answered in their order', async () => {
  const paths = Array.from({ length: 200 }, (_, at) => `/${at}`)
  const text = await allOf(ask(paths.map((path) => asks(path)).join('') + asks('/last', LAST)))
  assert.deepEqual(
    [...text.matchAll(/\r\n\r\n(\/\w+?)(?=HTTP|$)/g)].map(([, path]) => path),
    [...paths, '/last'],
  )
  assert.deepEqual([taken, most], [201, 1])
})

test('of a thousand at once none is taken that is one too many', async () => {
  const text = await allOf(ask(asks('/').repeat(1000)))
  assert.ok(taken <= 256, `${taken}`)
  assert.ok(text.split('HTTP/1.1 ').length - 1 <= 256)
  await noneIsOpen()
})

test('others are served beside', async () => {
  const deaf = ask(asks('/long').repeat(50))
  const answers = await Promise.all(Array.from({ length: 20 }, () => allOf(ask(asks('/', LAST)))))
  assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')))
  deaf.destroy()
  await noneIsOpen()
})
