import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '@penstock/kernel/result.ts'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { createRpc } from './rpc.ts'
import { createWebSocketTransport } from './websocket-transport.ts'

type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** A node with a WebSocket server. Each test sets how the node answers a call. */
class Node {
  readonly asked: RpcRequest[] = []
  readonly sockets: WebSocket[] = []
  readonly #server = createServer((_, response) => response.writeHead(405).end())
  readonly #upgrades = new WebSocketServer({ noServer: true })
  answer: (asked: RpcRequest, socket: WebSocket) => void = ({ id, method }, socket) =>
    socket.send(JSON.stringify({ id, result: method, error: null }))

  async listen(): Promise<void> {
    this.#server.on('upgrade', (request: IncomingMessage, stream, head) => {
      const isKnown = request.headers.authorization === `Basic ${Buffer.from('us:secret').toString('base64')}`
      if (!isKnown) return stream.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
      this.#upgrades.handleUpgrade(request, stream, head, (socket) => {
        this.sockets.push(socket)
        socket.on('message', (text: Buffer) => {
          const asked = JSON.parse(text.toString()) as RpcRequest
          this.asked.push(asked)
          this.answer(asked, socket)
        })
      })
    })
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }
  url(user = 'us:secret'): string {
    return `ws://${user}@127.0.0.1:${(this.#server.address() as AddressInfo).port}/ws`
  }
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

let node: Node
beforeEach(async () => {
  node = new Node()
  await node.listen()
})
afterEach(() => node.close())

const ask = (call: ReturnType<typeof createWebSocketTransport>, method: string) => call({ method, params: [] })

test('all calls share a connection, and each gets its own answer in any order', async () => {
  const sends: (() => void)[] = []
  node.answer = ({ id, method }, socket) => {
    sends.unshift(() => socket.send(JSON.stringify({ id, result: method, error: null })))
    if (sends.length === 3) for (const send of sends.splice(0)) send()
  }
  const rpc = createRpc({ url: node.url() })
  for (let round = 0; round < 2; round++)
    expect(await Promise.all(['a', 'b', 'c'].map((name) => rpc(name)))).toEqual(['a', 'b', 'c'])
  expect([node.sockets.length, node.asked.length]).toEqual([1, 6])
})

test('an error answer throws an RpcError, and a notification answers no call', async () => {
  node.answer = ({ id }, socket) => {
    socket.send(JSON.stringify({ jsonrpc: '1.0', id: null, method: 'blockconnected', params: [] }))
    socket.send(JSON.stringify({ id, result: null, error: { code: -5, message: 'no such transaction' } }))
  }
  const rpc = createRpc({ url: node.url() })
  await expect(rpc('getrawtransaction', 'ab', 1)).rejects.toMatchObject({
    code: -5,
    message: 'bitcoin node, getrawtransaction: no such transaction (-5)',
  })
  expect(node.asked).toMatchObject([{ method: 'getrawtransaction', params: ['ab', 1] }])
})

test('a connection that ends fails its pending calls, and the next call opens a new connection', async () => {
  const call = createWebSocketTransport({ url: node.url() })
  await ask(call, 'first')
  const answer = node.answer
  node.answer = (_, socket) => socket.terminate()
  const cut = await Promise.allSettled([ask(call, 'cut'), ask(call, 'cut too')])
  expect(cut.map((result) => result.status === 'rejected' && result.reason instanceof Fault)).toEqual([true, true])
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
  expect(node.sockets.length).toBe(2)
})

test('calls to a node that sends nothing time out, and the next call opens a new connection', async () => {
  const call = createWebSocketTransport({ url: node.url() }, 50)
  const answer = node.answer
  node.answer = () => undefined
  const silent = await Promise.allSettled([ask(call, 'one'), ask(call, 'other')])
  expect(silent.map((result) => result.status === 'rejected' && result.reason instanceof Fault)).toEqual([true, true])
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
})

test('a call that times out keeps the connection open if the node answers other calls', async () => {
  const call = createWebSocketTransport({ url: node.url() }, 1000)
  const answer = node.answer
  node.answer = (asked, socket) => (asked.method === 'slow' ? undefined : answer(asked, socket))
  const slow = ask(call, 'slow')
  expect((await ask(call, 'quick')).result).toBe('quick')
  await expect(slow).rejects.toThrow('did not answer within 1000 ms')
  expect((await ask(call, 'again')).result).toBe('again')
  expect(node.sockets.length).toBe(1)
})

test.each<[string, (socket: WebSocket) => void]>([
  ['that the node closes', (socket) => socket.close()],
  ['with an unreadable message', (socket) => (socket as unknown as { _socket: Socket })._socket.write('\xff\xff\xff')],
])('a connection %s fails its calls at once', async (_, interrupt) => {
  const call = createWebSocketTransport({ url: node.url() })
  const answer = node.answer
  node.answer = (__, socket) => {
    // The socket of the node is paused, so that the node does not complete the close.
    ;(socket as unknown as { _socket: Socket })._socket.pause()
    interrupt(socket)
  }
  await expect(ask(call, 'one')).rejects.toThrow(Fault)
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
})

test('an answer with invalid JSON ends the connection', async () => {
  const call = createWebSocketTransport({ url: node.url() })
  node.answer = (_, socket) => socket.send('<html>')
  await expect(ask(call, 'one')).rejects.toThrow('it has ended the connection')
})

test('a wrong password, a server without WebSocket and an unreachable node cause different errors', async () => {
  await expect(ask(createWebSocketTransport({ url: node.url('us:wrong') }), 'one')).rejects.toThrow(
    'refuses our user or password',
  )
  const plain = createServer((_, response) => response.writeHead(405).end())
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  const { port } = plain.address() as AddressInfo
  const elsewhere = createWebSocketTransport({ url: `ws://us:secret@127.0.0.1:${port}/ws` })
  await expect(ask(elsewhere, 'one')).rejects.toThrow('HTTP 405; only btcd has one, at /ws')
  plain.close()
  await once(plain, 'close')
  await expect(ask(elsewhere, 'one')).rejects.toThrow('the bitcoin node does not answer: connect ECONNREFUSED')
})

test('the password is read again for each connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'old')
  const call = createWebSocketTransport({ url: node.url('us'), passwordFile })
  await expect(ask(call, 'one')).rejects.toThrow('refuses our user or password')
  writeFileSync(passwordFile, 'secret\n')
  expect((await ask(call, 'one')).result).toBe('one')
})

test('an idle connection does not keep the process running', async () => {
  const module = new URL('websocket-transport.ts', import.meta.url).href
  const program = `import { createWebSocketTransport } from ${JSON.stringify(module)}
    console.log((await createWebSocketTransport({ url: ${JSON.stringify(node.url())} })({ method: 'last', params: [] })).result)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '-e', program])
  expect(stdout.trim()).toBe('last')
  expect(node.sockets.length).toBe(1)
})

test('a missing password file causes a read error', async () => {
  await expect(ask(createWebSocketTransport({ url: node.url('us'), passwordFile: '/nowhere/.cookie' }), 'one')).rejects.toThrow(
    'cannot be read',
  )
})
