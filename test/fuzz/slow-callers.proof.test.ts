import fc from 'fast-check'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { ValidRequests } from './generators/valid-requests.ts'
import type { FuzzRequest } from './request.ts'
import { startSlowCallers } from './slow-callers.ts'
import type { FuzzTarget } from './generators/targets.ts'
import { startSlowReaders } from './slow-reader.ts'

/** In this file, a plain TCP server with a fault replaces the market. The checks of slow callers must report each fault. */

const servers = new Set<Server>()
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  sockets.clear()
  servers.clear()
})

/** @param react called when data arrives */
async function openServer(
  react: (socket: Socket, text: string) => void,
): Promise<{ readonly host: string; readonly port: number }> {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('data', (part) => react(socket, part.toString()))
  }).listen(0, '127.0.0.1')
  servers.add(server)
  await new Promise((listening) => server.once('listening', listening))
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port } // it listens on TCP
}

const targetOf = (name: string, method: string, body: string | undefined): readonly [FuzzTarget, readonly FuzzRequest[]] => {
  const fuzzRequest: FuzzRequest = { target: name, caller: 'session', method, path: '/x', headers: {}, body, kinds: [] }
  return [{ name, callers: ['session'], generateRequests: () => fc.constant(fuzzRequest) }, [fuzzRequest]]
}
const validRequests: ValidRequests = new Map([targetOf('POST /x', 'POST', '{"a":1}'), targetOf('GET /y', 'GET', undefined)])
const callers = { authorization: () => 'Bearer key' }
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

describe('callers that never finish a request', () => {
  test('send a credential, and stop in the head or in the body', async () => {
    const received = new Map<Socket, string>()
    const server = await openServer((socket, text) => received.set(socket, (received.get(socket) ?? '') + text))
    const slow = startSlowCallers(server, { callers, validRequests })
    expect([...slow.triedTargets]).toEqual(['POST /x'])
    const texts = () => [...received.values()]
    // Each caller keeps sending, except the silent callers.
    for (const drip of [/a: b\r\na: b\r\n/, /\{"a":1\} {2}/, /1\r\n \r\n1\r\n \r\n/])
      await waitUntil(`something matches ${String(drip)}`, () => texts().some((text) => drip.test(text)))
    const openConnections = await slow.waitUntilClosed(0)
    assert.equal(openConnections.length, slow.count)
    for (const fault of openConnections) assert.match(fault, /never finished a request, and is still connected/)
    assert.equal(texts().filter((text) => text.includes('authorization: Bearer key\r\n')).length, 5)
    assert.equal(texts().filter((text) => text.includes('{"a":1}')).length, 3)
  })

  test.each([
    ['answered too early', OK, /was answered after \d+ ms: "HTTP\/1\.1 200 OK/],
    ['disconnected at once', '', /was answered after \d+ ms: ""/],
  ])('are reported if they are %s', async (_, answer, fault) => {
    const server = await openServer((socket) => socket.end(answer))
    const slow = startSlowCallers(server, { callers, validRequests })
    await waitUntil('five closed connections', () => [...sockets].filter(({ closed }) => closed).length === 5)
    // The server never answers silent callers, so the test closes their connections.
    for (const socket of sockets) socket.destroy()
    const faults = (await slow.waitUntilClosed(10_000)).filter((one) => !one.startsWith('nothing: '))
    assert.equal(faults.length, 5)
    for (const one of faults) assert.match(one, fault)
  })
})

describe('callers that do not read', () => {
  test.each([
    [OK, []],
    ['HTTP/1.1 500 No\r\nconnection: close\r\n\r\n', [/GET \/y, not read for a while: status 500/]],
    ['nonsense', [/GET \/y, not read for a while: it is not HTTP/]],
    ['', [/GET \/y, not read for a while: no answer/]],
  ])('are reported if they get no valid answer when they read at last: %j', async (answer, wanted) => {
    const server = await openServer((socket, text) =>
      text.startsWith('GET /y') || text.startsWith('GET /x') ? socket.end(answer) : socket.end(),
    )
    const unread = startSlowReaders(server, { callers, validRequests: new Map([targetOf('GET /y', 'GET', undefined)]) })
    expect([...unread.triedTargets]).toEqual(['GET /y'])
    const faults = await unread.read(10_000)
    expect(faults).toEqual(wanted.map((one) => expect.stringMatching(one) as string))
  })
})
