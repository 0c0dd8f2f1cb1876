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
import { rpcOf } from './rpc.ts'
import { socketCalls } from './socket.ts'

type Asked = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** A node with a socket, and what it is to make of each call. */
class Node {
  readonly asked: Asked[] = []
  readonly sockets: WebSocket[] = []
  readonly #server = createServer((_, response) => response.writeHead(405).end())
  readonly #upgrades = new WebSocketServer({ noServer: true })
  answer: (asked: Asked, socket: WebSocket) => void = ({ id, method }, socket) =>
    socket.send(JSON.stringify({ id, result: method, error: null }))

  async listen(): Promise<void> {
    this.#server.on('upgrade', (request: IncomingMessage, stream, head) => {
      const isKnown = request.headers.authorization === `Basic ${Buffer.from('us:secret').toString('base64')}`
      if (!isKnown) return stream.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
      this.#upgrades.handleUpgrade(request, stream, head, (socket) => {
        this.sockets.push(socket)
        socket.on('message', (text: Buffer) => {
          const asked = JSON.parse(text.toString()) as Asked
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

const ask = (call: ReturnType<typeof socketCalls>, method: string) => call({ method, params: [] })

test('all calls share a connection, and each has its own answer, whatever their order', async () => {
  const late: (() => void)[] = []
  node.answer = ({ id, method }, socket) => {
    late.unshift(() => socket.send(JSON.stringify({ id, result: method, error: null })))
    if (late.length === 3) for (const send of late.splice(0)) send()
  }
  const rpc = rpcOf({ url: node.url() })
  for (let round = 0; round < 2; round++)
    expect(await Promise.all(['a', 'b', 'c'].map((name) => rpc(name)))).toEqual(['a', 'b', 'c'])
  expect([node.sockets.length, node.asked.length]).toEqual([1, 6])
})

test('its no is a refusal, and what it tells by itself is nobody’s answer', async () => {
  node.answer = ({ id }, socket) => {
    socket.send(JSON.stringify({ jsonrpc: '1.0', id: null, method: 'blockconnected', params: [] }))
    socket.send(JSON.stringify({ id, result: null, error: { code: -5, message: 'no such transaction' } }))
  }
  const rpc = rpcOf({ url: node.url() })
  await expect(rpc('getrawtransaction', 'ab', 1)).rejects.toMatchObject({
    code: -5,
    message: 'bitcoin node, getrawtransaction: no such transaction (-5)',
  })
  expect(node.asked).toMatchObject([{ method: 'getrawtransaction', params: ['ab', 1] }])
})

test('a connection that ends fails what waits for it, and the next call opens another', async () => {
  const call = socketCalls({ url: node.url() })
  await ask(call, 'first')
  const answer = node.answer
  node.answer = (_, socket) => socket.terminate()
  const cut = await Promise.allSettled([ask(call, 'cut'), ask(call, 'cut too')])
  expect(cut.map((one) => one.status === 'rejected' && one.reason instanceof Fault)).toEqual([true, true])
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
  expect(node.sockets.length).toBe(2)
})

test('a node that says nothing is given up, and asked over another connection', async () => {
  const call = socketCalls({ url: node.url() }, 50)
  const answer = node.answer
  node.answer = () => undefined
  const silent = await Promise.allSettled([ask(call, 'one'), ask(call, 'other')])
  expect(silent.map((one) => one.status === 'rejected' && one.reason instanceof Fault)).toEqual([true, true])
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
})

test('a call that takes too long ends alone where others are answered', async () => {
  const call = socketCalls({ url: node.url() }, 1000)
  const answer = node.answer
  node.answer = (asked, socket) => (asked.method === 'slow' ? undefined : answer(asked, socket))
  const slow = ask(call, 'slow')
  expect((await ask(call, 'quick')).result).toBe('quick')
  await expect(slow).rejects.toThrow('nothing for 1000 ms')
  expect((await ask(call, 'again')).result).toBe('again')
  expect(node.sockets.length).toBe(1)
})

test.each<[string, (socket: WebSocket) => void]>([
  ['that the node closes', (socket) => socket.close()],
  ['with a message that nobody can read', (socket) => (socket as unknown as { _socket: Socket })._socket.write('\xff\xff\xff')],
])('a connection %s is left at once', async (_, spoil) => {
  const call = socketCalls({ url: node.url() })
  const answer = node.answer
  node.answer = (__, socket) => {
    // The other end hears nothing of it, and says nothing either.
    ;(socket as unknown as { _socket: Socket })._socket.pause()
    spoil(socket)
  }
  await expect(ask(call, 'one')).rejects.toThrow(Fault)
  node.answer = answer
  await vi.waitFor(async () => expect((await ask(call, 'again')).result).toBe('again'))
})

test('an answer that is no JSON ends the connection', async () => {
  const call = socketCalls({ url: node.url() })
  node.answer = (_, socket) => socket.send('<html>')
  await expect(ask(call, 'one')).rejects.toThrow('it has ended the connection')
})

test('a wrong password, a place without calls and a node that is away are told apart', async () => {
  await expect(ask(socketCalls({ url: node.url('us:wrong') }), 'one')).rejects.toThrow('refuses our user or password')
  const plain = createServer((_, response) => response.writeHead(405).end())
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  const { port } = plain.address() as AddressInfo
  const elsewhere = socketCalls({ url: `ws://us:secret@127.0.0.1:${port}/ws` })
  await expect(ask(elsewhere, 'one')).rejects.toThrow('HTTP 405; only btcd has them, at /ws')
  plain.close()
  await once(plain, 'close')
  await expect(ask(elsewhere, 'one')).rejects.toThrow('the bitcoin node does not answer: connect ECONNREFUSED')
})

test('the password is read again for each connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'old')
  const call = socketCalls({ url: node.url('us'), passwordFile })
  await expect(ask(call, 'one')).rejects.toThrow('refuses our user or password')
  writeFileSync(passwordFile, 'secret\n')
  expect((await ask(call, 'one')).result).toBe('one')
})

test('a connection on which nothing is asked keeps no process from ending', async () => {
  const module = new URL('socket.ts', import.meta.url).href
  const program = `import { socketCalls } from ${JSON.stringify(module)}
    console.log((await socketCalls({ url: ${JSON.stringify(node.url())} })({ method: 'last', params: [] })).result)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '-e', program])
  expect(stdout.trim()).toBe('last')
  expect(node.sockets.length).toBe(1)
})

test('a password file that is not there is named', async () => {
  await expect(ask(socketCalls({ url: node.url('us'), passwordFile: '/nowhere/.cookie' }), 'one')).rejects.toThrow(
    'cannot be read',
  )
})
