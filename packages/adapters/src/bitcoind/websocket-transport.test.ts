import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { WebSocket } from 'ws'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'
import { FakeBtcd } from './fake-btcd.fixture.ts'
import { RESPONSE_TIMEOUT_MS } from './rpc-call.ts'
import { createRpc } from './rpc.ts'
import { createWebSocketTransport } from './websocket-transport.ts'

let node: FakeBtcd
beforeEach(async () => {
  node = new FakeBtcd()
  await node.listen()
})
afterEach(() => node.close())

type Call = ReturnType<typeof createWebSocketTransport>
const ask = (call: Call, method: string) => call({ method, params: [] })
/** Repeats a call until it is answered, because it fails while the old connection is closing. */
const waitForAnswer = (call: Call) =>
  waitUntil('a call is answered again', () =>
    ask(call, 'again').then(
      ({ result }) => result === 'again',
      () => false,
    ),
  )

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
  await waitForAnswer(call)
  expect(node.sockets.length).toBe(2)
})

test('calls to a node that sends nothing time out, and the next call opens a new connection', async () => {
  const schedule = createVirtualSchedule('btcd')
  const call = createWebSocketTransport({ url: node.url() }, schedule.clock)
  const answer = node.answer
  node.answer = () => undefined
  const silent = Promise.allSettled([ask(call, 'one'), ask(call, 'other')])
  await waitUntil('both calls have arrived', () => node.asked.length === 2)
  await schedule.run()
  expect((await silent).map((result) => result.status === 'rejected' && result.reason instanceof Fault)).toEqual([true, true])
  node.answer = answer
  await waitForAnswer(call)
})

test('a call that times out keeps the connection open if the node answers other calls', async () => {
  const schedule = createVirtualSchedule('btcd')
  const call = createWebSocketTransport({ url: node.url() }, schedule.clock)
  const answer = node.answer
  node.answer = (asked, socket) => (asked.method === 'slow' ? undefined : answer(asked, socket))
  const slow = ask(call, 'slow')
  slow.catch(() => undefined) // It is awaited later.
  expect((await ask(call, 'quick')).result).toBe('quick')
  await schedule.run()
  await expect(slow).rejects.toThrow(`did not answer within ${RESPONSE_TIMEOUT_MS} ms`)
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
  await waitForAnswer(call)
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

test('a missing password file causes a read error', async () => {
  await expect(ask(createWebSocketTransport({ url: node.url('us'), passwordFile: '/nowhere/.cookie' }), 'one')).rejects.toThrow(
    'cannot be read',
  )
})
