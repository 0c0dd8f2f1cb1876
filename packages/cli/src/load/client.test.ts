import { createServer, type RequestListener, type Server } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { targetOf } from './address.ts'
import { type Client, openClient } from './client.ts'
import { openMarket } from './market.ts'

const open: { server: Server; client: Client }[] = []
afterEach(async () => {
  for (const { server, client } of open.splice(0)) {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** @param host under which it is asked, which need not exist */
async function serving(listener: RequestListener, { timeoutMs = 5000, host = '127.0.0.1', connections = 256 } = {}) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const stop = new AbortController()
  const target = await targetOf(`http://${host}:${port}`, true, () => Promise.resolve(['127.0.0.1']))
  const waits: { readonly ms: number; readonly hasLeft: boolean }[] = []
  const waited = (ms: number, hasLeft: boolean): void => void waits.push({ ms, hasLeft })
  const client = openClient(target, { timeoutMs, signal: stop.signal, connections, waited })
  open.push({ server, client })
  const market = openMarket({ front: client, back: client, token: undefined })
  return { client, market, stop, waits, sent: () => waits.filter(({ hasLeft }) => hasLeft).length }
}

test('a redirect is an answer: nobody else is asked', async () => {
  const elsewhere: string[] = []
  const other = await serving((request, response) => void response.end(void elsewhere.push(request.url ?? '')))
  const { market, client } = await serving(
    (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
  )
  expect((await client.send('GET', '/')).status).toBe(302)
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'HTTP 302' })
  await expect(market.page('http://another.example/order/1')).rejects.toThrow(/elsewhere, which is not followed/)
  expect(elsewhere).toEqual([])
  other.client.close()
})

test('a name is the addresses that were looked at', async () => {
  const { client } = await serving((request, response) => void response.end(request.headers.host), {
    host: 'no-such-host.invalid',
  })
  expect((await client.send('GET', '/')).text).toMatch(/^no-such-host\.invalid:/)
})

test('every request ends: by its time, or by the end of the run', async () => {
  const silent = await serving(() => undefined, { timeoutMs: 50 })
  await expect(silent.client.send('GET', '/')).rejects.toMatchObject({ code: 'time-out' })
  const slow = await serving((_, response) => void response.writeHead(200).write('{'), { timeoutMs: 50 })
  await expect(slow.client.send('GET', '/')).rejects.toMatchObject({ code: 'time-out' })
  const stopped = await serving(() => stopped.stop.abort())
  await expect(stopped.client.send('GET', '/')).rejects.toMatchObject({ code: 'stopped' })
})

test('429 is a limit, with the pause that is asked for', async () => {
  const { market, sent } = await serving((_, response) => void response.writeHead(429, { 'retry-after': '7' }).end('{}'))
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'throttled', pauseMs: 7000 })
  await expect(market.lsps1('GET', '/cheapest/get_info')).rejects.toMatchObject({ pauseMs: 7000 })
  expect(sent()).toBe(2)
  const vague = await serving((_, response) => void response.writeHead(429).end('{}'))
  await expect(vague.market.graphql('{ x }', {})).rejects.toMatchObject({ pauseMs: null })
})

test('refusals have the code of their reason, and what is no JSON has its HTTP status', async () => {
  const answers = [
    { errors: [{ message: 'Too many.', extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'TOO_MANY_ORDERS' } }] },
    { errors: [{ message: 'No seller.', extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'NO_SELLER' } }] },
    { errors: [{ message: 'Broken.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
    'nothing',
  ]
  const { market } = await serving((_, response) => {
    const answer = answers.shift()
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'TOO_MANY_ORDERS', pauseMs: null })
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({
    code: 'NO_SELLER',
    message: 'No seller.',
    pauseMs: undefined,
  })
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'HTTP 200' })
})

test('a service that is gone is named by its code', async () => {
  const target = await targetOf('http://127.0.0.1:1', false)
  const client = openClient(target, { timeoutMs: 1000, signal: new AbortController().signal })
  await expect(client.send('GET', '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a request that finds every connection taken waits, its own time begins when it leaves, and the wait is told', async () => {
  const { client, waits } = await serving((_, response) => void setTimeout(() => response.end(), 400), {
    timeoutMs: 700,
    connections: 1,
  })
  const both = await Promise.all([client.send('GET', '/'), client.send('GET', '/')])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect(waits.map(({ hasLeft }) => hasLeft)).toEqual([true, true])
  expect(waits[0]?.ms).toBe(0)
  expect(waits[1]?.ms).toBeGreaterThan(350)
})

test('one that never leaves is told apart from one that was not answered, and what was not answered makes room', async () => {
  const asked: string[] = []
  const { client, waits } = await serving(
    ({ url = '' }, response) => {
      asked.push(url)
      if (url === '/quick') response.end()
    },
    { timeoutMs: 500, connections: 1 },
  )
  const silent = client.send('GET', '/silent', { timeoutMs: 200 })
  const unsent = client.send('GET', '/unsent', { timeoutMs: 100 })
  const quick = client.send('GET', '/quick')
  await expect(unsent).rejects.toMatchObject({
    code: 'not sent',
    message: expect.stringMatching(/^none of the 1 connections/) as unknown,
  })
  await expect(silent).rejects.toMatchObject({ code: 'time-out' })
  expect((await quick).status).toBe(200)
  expect(asked).toEqual(['/silent', '/quick'])
  expect(waits.map(({ hasLeft }) => hasLeft)).toEqual([true, false, true])
  expect(waits[1]?.ms).toBeGreaterThan(90)
})

test('there are never more connections than are allowed, and none of them is lost', async () => {
  let [now, most] = [0, 0]
  const met: (() => void)[] = []
  const { client, sent } = await serving(
    ({ url = '' }, response) => {
      most = Math.max(most, ++now)
      response.on('close', () => now--)
      if (url === '/cut') return void response.destroy()
      if (url === '/half') return void response.writeHead(200, { 'content-length': 9 }).write('half', () => response.destroy())
      if (url === '/whole') return void response.end('whole')
      // Nobody is answered before three are there.
      if (met.push(() => void response.end()) === 3) for (const answer of met) answer()
    },
    { connections: 3 },
  )
  const ways = ['/whole', '/cut', '/half']
  const ended = await Promise.allSettled(Array.from({ length: 60 }, (_, index) => client.send('GET', ways[index % 3] ?? '')))
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
  await Promise.all(ways.map(() => client.send('GET', '/meet')))
  expect({ most, sent: sent() }).toEqual({ most: 3, sent: 63 })
})

test('the end of the run also ends those who wait for a connection, at once', async () => {
  const { client, stop, waits } = await serving(() => undefined, { timeoutMs: 60_000, connections: 1 })
  const both = [client.send('GET', '/'), client.send('GET', '/')]
  stop.abort()
  for (const request of both) await expect(request).rejects.toMatchObject({ code: 'stopped' })
  await expect(client.send('GET', '/')).rejects.toMatchObject({ code: 'stopped' })
  expect(waits.filter(({ hasLeft }) => !hasLeft)).toEqual([])
})
