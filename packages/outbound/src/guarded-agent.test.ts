import { afterEach, describe, expect, test, vi } from 'vitest'
import { CERTIFICATE } from './certificate.fixture.ts'
import { RefusedAddress } from './failed-call.ts'
import { type CheckedHost, createPublicHostGuard, type HostGuard } from './host-guard.ts'
import { closeReceivers, closers, createAgent, post, startHttp, startRaw, startTls } from './receivers.fixture.ts'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_REGISTRY } from './special-purpose.ts'

afterEach(closeReceivers)

describe('the guard', () => {
  const guard = createPublicHostGuard({ resolve: async () => ['127.0.0.1'], hasTor: async () => null })

  test.each([...IPV4_REGISTRY, ...ADDITIONAL_IPV4, ...IPV6_REGISTRY])('no connection is made to $prefix', async ({ prefix }) => {
    const address = prefix.replace(/\/.*/, '')
    const result = await post(createAgent({ guard }), `https://${address.includes(':') ? `[${address}]` : address}:8443/`)
    expect(result).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('is an address for special purposes') as string,
    })
  })

  test('an error of the agent names the refusal by its class, code and reason', async () => {
    const call = createAgent({ guard }).request({ origin: 'https://10.0.0.1', path: '/', method: 'GET' })
    const error: unknown = await call.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RefusedAddress)
    expect(error).toMatchObject({
      code: 'ERR_REFUSED_ADDRESS',
      reason: '10.0.0.1 is an address for special purposes (Private-Use, RFC 1918)',
    })
  })

  test('a name that leads inside is refused, and the reason contains no address', async () => {
    expect(await post(createAgent({ guard }), 'https://hooks.example.org/')).toEqual({
      kind: 'failed',
      reason: 'hooks.example.org does not stand for public addresses alone',
    })
  })

  test('an .onion name is refused, although the guard allows it', async () => {
    const onion = `${'a2'.repeat(28)}.onion`
    expect(await post(createAgent({ guard }), `https://${onion}/`)).toEqual({
      kind: 'failed',
      reason: `${onion} needs Tor, which this client does not use`,
    })
  })

  test('a guard that throws fails the call', async () => {
    const agent = createAgent({ guard: () => Promise.reject(new Error('10.0.0.53 does not answer')) })
    expect(await post(agent, 'https://hooks.example.org/')).toEqual({ kind: 'failed', reason: 'the call failed' })
  })

  test('http to any other host than loopback is refused', async () => {
    const agent = createAgent({ guard: async () => ({ allowed: true, host: '127.0.0.1' }), allowLoopback: true })
    expect(await post(agent, 'http://hooks.example.org:8080/')).toEqual({
      kind: 'failed',
      reason: 'hooks.example.org is called by https only',
    })
  })

  test.each(['http://127.0.0.1', 'http://localhost', 'http://2130706433'])('%s needs the option', async (origin) => {
    const port = await startHttp((_, response) => response.end())
    expect(await post(createAgent({ guard }), `${origin}:${port}/`)).toMatchObject({ kind: 'failed' })
    expect(await post(createAgent({ guard, allowLoopback: true }), `${origin}:${port}/`)).toMatchObject({
      kind: 'answered',
      status: 200,
    })
  })

  test('loopback is checked on every port, and localhost needs no name server', async () => {
    const { port } = new URL('http://localhost:1')
    const agent = createAgent({ guard: () => Promise.reject(new Error('not asked')), allowLoopback: true })
    expect(await post(agent, `http://localhost:${port}/`)).toEqual({ kind: 'failed', reason: 'the host refused the connection' })
  })
})

describe('TLS and names that change', () => {
  const loopback: CheckedHost = { allowed: true, host: '127.0.0.1' }
  /** A guard that gives the answers in turn, and the last one from then on. */
  const guardOf = (...answers: readonly [CheckedHost, ...CheckedHost[]]) => {
    const asked: string[] = []
    const guard: HostGuard = async (host) => answers[Math.min(asked.push(host), answers.length) - 1] ?? answers[0]
    return { asked, guard }
  }

  test('the connection goes to the checked address, and the name stays in SNI and Host', async () => {
    const { port, seen } = await startTls()
    const { guard, asked } = guardOf(loopback)
    const agent = createAgent({ guard, ca: CERTIFICATE })
    expect(await post(agent, `https://Hooks.Example.ORG:${port}/a`)).toEqual({
      kind: 'answered',
      status: 200,
      retryAfterSeconds: null,
    })
    expect(asked).toEqual(['hooks.example.org'])
    expect(seen).toEqual([{ servername: 'hooks.example.org', host: `hooks.example.org:${port}`, path: '/a' }])
  })

  test('a name is checked again at each new connection', async () => {
    const { port, seen } = await startTls()
    const { guard } = guardOf(loopback, { allowed: false, reason: 'hooks.example.org leads inside now' })
    const url = `https://hooks.example.org:${port}/`
    expect(await post(createAgent({ guard, ca: CERTIFICATE }), url)).toMatchObject({ kind: 'answered' })
    expect(await post(createAgent({ guard, ca: CERTIFICATE }), url)).toEqual({
      kind: 'failed',
      reason: 'hooks.example.org leads inside now',
    })
    expect(seen).toHaveLength(1)
  })

  test('a connection older than 30 s is not used again, so that the name is checked again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    closers.push(async () => vi.useRealTimers())
    const { port } = await startTls()
    const { guard, asked } = guardOf(loopback)
    const agent = createAgent({ guard, ca: CERTIFICATE })
    const call = () => post(agent, `https://hooks.example.org:${port}/`)
    for (let count = 0; count < 5; count++) await call()
    const checks = asked.length
    expect(checks).toBeLessThan(3)
    vi.advanceTimersByTime(30_001)
    expect(await call()).toMatchObject({ kind: 'answered' })
    expect(asked).toHaveLength(checks + 1)
  })

  test('a name that stands for an inner address at the second check is not connected to', async () => {
    const { port, seen } = await startTls()
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    const guard = createPublicHostGuard({ resolve: async () => answers.shift() ?? [], hasTor: async () => false })
    expect(await guard('hooks.example.org')).toEqual({ allowed: true, host: '8.8.8.8' })
    expect(await post(createAgent({ guard, ca: CERTIFICATE }), `https://hooks.example.org:${port}/`)).toMatchObject({
      kind: 'failed',
    })
    expect(seen).toEqual([])
  })

  test('a certificate of another name fails', async () => {
    const { port, seen } = await startTls()
    const agent = createAgent({ guard: guardOf(loopback).guard, ca: CERTIFICATE })
    expect(await post(agent, `https://other.example.org:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'the certificate belongs to another host',
    })
    expect(seen).toEqual([])
  })

  test('a certificate that no authority signed fails', async () => {
    const { port } = await startTls()
    expect(await post(createAgent({ guard: guardOf(loopback).guard }), `https://hooks.example.org:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'the certificate of the host is not trusted',
    })
  })

  test('https to a server without TLS fails', async () => {
    const port = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    expect(await post(createAgent({ guard: guardOf(loopback).guard }), `https://hooks.example.org:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'the TLS handshake failed',
    })
  })
})
