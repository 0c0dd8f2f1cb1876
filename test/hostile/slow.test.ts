import fc from 'fast-check'
import { until } from '@penstock/testkit/until.ts'
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { RightShots } from './right.ts'
import type { Shot } from './shot.ts'
import { openSlow } from './slow.ts'
import type { Target } from './targets.ts'
import { openUnread } from './unread.ts'

/** What the looks at slow callers have to notice, at a server of which nothing is expected. */

const servers = new Set<Server>()
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  sockets.clear()
  servers.clear()
})

/** @param react what it does as soon as something comes */
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

const targetOf = (name: string, method: string, body: string | undefined): readonly [Target, readonly Shot[]] => {
  const shot: Shot = { target: name, caller: 'session', method, path: '/x', headers: {}, body, kinds: [] }
  return [{ name, callers: ['session'], shots: () => fc.constant(shot) }, [shot]]
}
const right: RightShots = new Map([targetOf('POST /x', 'POST', '{"a":1}'), targetOf('GET /y', 'GET', undefined)])
const callers = { authorization: () => 'Bearer key' }
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

describe('callers who never come to an end', () => {
  test('come with a credential, in the head and in the body', async () => {
    const heard = new Map<Socket, string>()
    const server = await openServer((socket, text) => heard.set(socket, (heard.get(socket) ?? '') + text))
    const slow = openSlow(server, { callers, right })
    expect([...slow.tried]).toEqual(['POST /x'])
    const texts = () => [...heard.values()]
    // Each of them goes on, but for the one that is silent.
    for (const drip of [/a: b\r\na: b\r\n/, /\{"a":1\} {2}/, /1\r\n \r\n1\r\n \r\n/])
      await until(`something matches ${String(drip)}`, () => texts().some((text) => drip.test(text)))
    const staying = await slow.ended(0)
    assert.equal(staying.length, slow.count)
    for (const fault of staying) assert.match(fault, /never came to an end, and may stay/)
    assert.equal(texts().filter((text) => text.includes('authorization: Bearer key\r\n')).length, 5)
    assert.equal(texts().filter((text) => text.includes('{"a":1}')).length, 3)
  })

  test.each([
    ['answered before their end', OK, /was answered after \d+ ms: "HTTP\/1\.1 200 OK/],
    ['sent away at once', '', /was answered after \d+ ms: ""/],
  ])('are not to be %s', async (_, answer, fault) => {
    const server = await openServer((socket) => socket.end(answer))
    const slow = openSlow(server, { callers, right })
    await until('it has ended them', () => [...sockets].filter(({ closed }) => closed).length === 5)
    // Those who say nothing, whom such a server does not hear.
    for (const socket of sockets) socket.destroy()
    const faults = (await slow.ended(10_000)).filter((one) => !one.startsWith('nothing: '))
    assert.equal(faults.length, 5)
    for (const one of faults) assert.match(one, fault)
  })
})

describe('callers who do not read', () => {
  test.each([
    [OK, []],
    ['HTTP/1.1 500 No\r\nconnection: close\r\n\r\n', [/GET \/y, not read for a while: status 500/]],
    ['nonsense', [/GET \/y, not read for a while: it is no HTTP/]],
    ['', [/GET \/y, not read for a while: nothing came/]],
  ])('are to find an answer in the end: %j', async (answer, wanted) => {
    const server = await openServer((socket, text) =>
      text.startsWith('GET /y') || text.startsWith('GET /x') ? socket.end(answer) : socket.end(),
    )
    const unread = openUnread(server, { callers, right: new Map([targetOf('GET /y', 'GET', undefined)]) })
    expect([...unread.tried]).toEqual(['GET /y'])
    const faults = await unread.read(10_000)
    expect(faults).toEqual(wanted.map((one) => expect.stringMatching(one) as string))
  })
})
