import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { CERTIFICATE } from './certificate.fixture.ts'
import type { CheckedHost } from './host-guard.ts'
import { closeReceivers, createAgent, development, post, startHttp, startRaw, startTls } from './receivers.fixture.ts'

afterEach(closeReceivers)

describe('a request', () => {
  test('carries its headers and its body as bytes', async () => {
    const received: { method: string | undefined; url: string | undefined; sent: unknown; body: string }[] = []
    const port = await startHttp((request, response) => {
      let body = ''
      request.setEncoding('utf8')
      request.on('data', (text: string) => (body += text))
      request.on('end', () => {
        received.push({ method: request.method, url: request.url, sent: request.headers['x-test'], body })
        response.writeHead(204).end()
      })
    })
    const agent = development()
    const sent = { headers: { 'x-test': 'a' } }
    const url = `http://127.0.0.1:${port}/a?b=c`
    expect(await post(agent, url, { ...sent, body: '{"ä":1}' })).toMatchObject({ status: 204 })
    expect(await post(agent, url, { ...sent, body: new TextEncoder().encode('{"ä":2}') })).toMatchObject({ status: 204 })
    expect(received).toEqual(['{"ä":1}', '{"ä":2}'].map((body) => ({ method: 'POST', url: '/a?b=c', sent: 'a', body })))
  })

  test('uses a connection again, or a second one while the first is not ready yet', async () => {
    const sockets = new Set<unknown>()
    const port = await startHttp((request, response) => {
      sockets.add(request.socket)
      response.end('ok')
    })
    const agent = development()
    for (let call = 0; call < 5; call++) await post(agent, `http://127.0.0.1:${port}/`)
    expect(sockets.size).toBeLessThan(3)
  })

  test('follows no redirect', async () => {
    let insideCalls = 0
    const inside = await startHttp((_, response) => {
      insideCalls++
      response.end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const port = await startHttp((_, response) => response.writeHead(status, { location: `http://127.0.0.1:${inside}/` }).end())
      expect(await post(development(), `http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered', status })
    }
    expect(insideCalls).toBe(0)
  })

  test.each(['rubbish', 'https://', ''])('to %j fails without an exception', async (url) => {
    expect(await post(development(), url)).toMatchObject({ kind: 'failed' })
  })

  test('with an invalid header fails without an exception', async () => {
    const result = await post(development(), 'http://127.0.0.1:1/', { headers: { 'x-a': 'b\r\nc: d' } })
    expect(result).toEqual({ kind: 'failed', reason: 'the call failed (UND_ERR_INVALID_ARG)' })
  })

  test('after the agent was destroyed fails without an exception', async () => {
    const agent = development()
    await agent.destroy()
    expect(await post(agent, 'http://127.0.0.1:1/')).toMatchObject({ kind: 'failed' })
  })
})

describe('an answer', () => {
  test.each([
    [{ 'retry-after': '120' }, 120],
    [{ 'retry-after': ' 0 ' }, 0],
    [{ 'retry-after': 'Mon, 01 Jan 2024 00:02:00 GMT', date: 'Mon, 01 Jan 2024 00:00:00 GMT' }, 120],
    [{ 'retry-after': 'Mon, 01 Jan 2024 00:00:00 GMT', date: 'Mon, 01 Jan 2024 00:00:09 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': '1.5' }, null],
    [{}, null],
  ])('with %j is to be repeated after %s seconds', async (headers, retryAfterSeconds) => {
    const port = await startHttp((_, response) => response.writeHead(503, headers).end('busy'))
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toEqual({ kind: 'answered', status: 503, retryAfterSeconds })
  })

  test('after an informational response is the final one', async () => {
    const port = await startRaw((socket) =>
      socket.end('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'),
    )
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered', status: 201 })
  })

  test('without an end counts after 4 KiB, and its connection is closed', async () => {
    let isClosed = false
    const port = await startHttp((_, response) => {
      response.writeHead(200)
      const write = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024, 'a')));
      }
      response.on('drain', write)
      response.on('close', () => (isClosed = true))
      write()
    })
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'answered',
      status: 200,
      retryAfterSeconds: null,
    })
    await waitUntil('the connection is closed', () => isClosed)
  })

  test('of 4 KiB leaves its connection open', async () => {
    const sockets = new Set<unknown>()
    const port = await startHttp((request, response) => {
      sockets.add(request.socket)
      response.end(Buffer.alloc(4096))
    })
    const agent = development()
    for (let call = 0; call < 5; call++) await post(agent, `http://127.0.0.1:${port}/`)
    expect(sockets.size).toBeLessThan(3)
  })

  test.each([
    ['never begins', () => undefined],
    ['never ends its headers', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nX-A: b\r\n')],
    ['never ends its body', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')],
  ])('that %s fails after the time-out, and its connection is closed', async (_, answer) => {
    let isClosed = false
    const port = await startRaw((socket) => {
      socket.on('close', () => (isClosed = true))
      answer(socket)
    })
    expect(await post(development(), `http://127.0.0.1:${port}/`, { timeoutMs: 50 })).toEqual({
      kind: 'failed',
      reason: 'no complete answer within 50 ms',
    })
    await waitUntil('the connection is closed', () => isClosed)
  })

  test.each([
    ['no HTTP', 'hello, this is ssh\r\n', 'the answer is not valid HTTP'],
    ['a status that is no number', 'HTTP/1.1 abc OK\r\n\r\n', 'the answer is not valid HTTP'],
    ['bytes', '\u0000\u0001\u0002\u0003', 'the answer is not valid HTTP'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 'the answer is not valid HTTP'],
    ['huge headers', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 'the headers of the answer are too long'],
    [
      'a body that is cut off',
      'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
      'the connection was closed before the answer was complete',
    ],
    ['nothing', '', 'the connection was closed before the answer was complete'],
  ])('of %s fails, and the reason contains no part of it', async (_, text, reason) => {
    const port = await startRaw((socket) => socket.end(text))
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toEqual({ kind: 'failed', reason })
  })

  test('that is an upgrade to another protocol fails', async () => {
    const port = await startRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n'),
    )
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'failed' })
  })

  test('that is a reset connection fails', async () => {
    const port = await startRaw((socket) => socket.resetAndDestroy())
    expect(await post(development(), `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'the connection was closed before the answer was complete',
    })
  })
})

describe('the end of a call', () => {
  test('a time-out during the check of the host ends the call, and the request is never sent', async () => {
    const { port, seen } = await startTls()
    const allowed: CheckedHost = { allowed: true, host: '127.0.0.1' }
    let release: (host: CheckedHost) => void = () => undefined
    const checks: Promise<CheckedHost>[] = [new Promise((resolve) => (release = resolve))]
    const agent = createAgent({ guard: async () => checks.pop() ?? allowed, ca: CERTIFICATE })
    let connections = 0
    agent.on('connect', () => connections++)
    expect(await post(agent, `https://hooks.example.org:${port}/first`, { timeoutMs: 20 })).toMatchObject({ kind: 'failed' })
    release(allowed)
    await waitUntil('the connection of the first call is made', () => connections === 1)
    expect(await post(agent, `https://hooks.example.org:${port}/second`)).toMatchObject({ kind: 'answered' })
    expect(seen.map(({ path }) => path)).toEqual(['/second'])
  })

  test('the signal of the caller ends the call', async () => {
    const stop = new AbortController()
    const port = await startRaw(() => stop.abort())
    expect(await post(development(), `http://127.0.0.1:${port}/`, { signal: stop.signal })).toEqual({
      kind: 'failed',
      reason: 'the call was stopped',
    })
    expect(await post(development(), `http://127.0.0.1:${port}/`, { signal: stop.signal })).toEqual({
      kind: 'failed',
      reason: 'the call was stopped',
    })
  })
})
