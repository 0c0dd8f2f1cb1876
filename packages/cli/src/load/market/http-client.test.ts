import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createVirtualSchedule } from '@penstock/adapters/deterministic/virtual-schedule.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { resolveMarketAddress } from './market-address.ts'
import { type HttpClient, openHttpClient } from './http-client.ts'
import { openLoadMarket } from './load-market.ts'
import { toKnownRequestError } from '../orders/order-scenario.ts'
import { createLoadCounters } from '../measurements/counters.ts'

const open: { server: Server; client: HttpClient }[] = []
afterEach(async () => {
  for (const { server, client } of open.splice(0)) {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** Starts a server, whose client has virtual time. @param host the host name in the requests, which need not exist */
async function startMarket(listener: RequestListener, { timeoutMs = 5000, host = '127.0.0.1', connections = 256 } = {}) {
  let received = 0
  const server = createServer((request, response) => {
    received++
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const stop = new AbortController()
  const marketAddress = await resolveMarketAddress(`http://${host}:${port}`, true, () => Promise.resolve(['127.0.0.1']))
  const waits: { readonly ms: number; readonly hasLeft: boolean }[] = []
  const recordWait = (ms: number, hasLeft: boolean): void => void waits.push({ ms, hasLeft })
  const schedule = createVirtualSchedule('client')
  const pass = (ms: number) => schedule.run({ untilMs: schedule.now() + ms })
  const waitForRequests = (count: number) => waitUntil(`${count} requests`, () => received >= count)
  const { signal } = stop
  const client = openHttpClient(marketAddress, {
    timeoutMs,
    signal,
    connections,
    onConnectionWait: recordWait,
    clock: schedule.clock,
  })
  open.push({ server, client })
  const market = openLoadMarket({ loadClient: client, controlClient: client, token: undefined })
  return { client, market, stop, waits, pass, waitForRequests, countSent: () => waits.filter(({ hasLeft }) => hasLeft).length }
}

test('a redirect is not followed, so that no other host gets a request', async () => {
  const elsewhere: string[] = []
  const other = await startMarket((request, response) => void response.end(void elsewhere.push(request.url ?? '')))
  const { market, client } = await startMarket(
    (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
  )
  expect((await client.send('GET', '/')).status).toBe(302)
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'HTTP 302' })
  await expect(market.page('http://another.example/order/1')).rejects.toThrow(/elsewhere, which is not followed/)
  expect(elsewhere).toEqual([])
  other.client.close()
})

test('the client connects only to the addresses that were resolved before', async () => {
  const { client } = await startMarket((request, response) => void response.end(request.headers.host), {
    host: 'no-such-host.invalid',
  })
  expect((await client.send('GET', '/')).text).toMatch(/^no-such-host\.invalid:/)
})

test('every request ends, at its timeout or at the end of the run', async () => {
  const listeners: readonly RequestListener[] = [() => undefined, (_, response) => void response.writeHead(200).write('{')]
  for (const listener of listeners) {
    const { client, waitForRequests, pass } = await startMarket(listener, { timeoutMs: 50 })
    const failed = client.send('GET', '/').catch((error: unknown) => error)
    await waitForRequests(1)
    await pass(50)
    expect(await failed).toMatchObject({ code: 'time-out' })
  }
  const stopped = await startMarket(() => stopped.stop.abort())
  await expect(stopped.client.send('GET', '/')).rejects.toMatchObject({ code: 'stopped' })
})

test('HTTP 429 is a throttle error with the requested pause, or with null if the answer gives no duration', async () => {
  const { market, countSent } = await startMarket((_, response) => void response.writeHead(429, { 'retry-after': '7' }).end('{}'))
  await expect(market.graphql('{ x }', {})).rejects.toMatchObject({ code: 'throttled', pauseMs: 7000 })
  await expect(market.lsps1('GET', '/cheapest/get_info')).rejects.toMatchObject({ pauseMs: 7000 })
  expect(countSent()).toBe(2)
  const vague = await startMarket((_, response) => void response.writeHead(429).end('{}'))
  await expect(vague.market.graphql('{ x }', {})).rejects.toMatchObject({ pauseMs: null })
})

test('the code of an error is the reason of the refusal, or the HTTP status of an answer without JSON', async () => {
  const answers = [
    { errors: [{ message: 'Too many.', extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'TOO_MANY_ORDERS' } }] },
    { errors: [{ message: 'No seller.', extensions: { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'NO_SELLER' } }] },
    { errors: [{ message: 'Broken.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
    'nothing',
  ]
  const { market } = await startMarket((_, response) => {
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

test('a refusal by a busy market counts as refused, and not as an error or a throttle', async () => {
  const busy = { code: 'INTERNAL_SERVER_ERROR', retry_after: 3 }
  const graphql = await startMarket(
    (_, response) =>
      void response.end(
        JSON.stringify({ errors: [{ message: 'The market is busy; try again in 3 seconds', extensions: busy }] }),
      ),
  )
  const lsps1 = await startMarket(
    (_, response) =>
      void response.writeHead(503, { 'retry-after': '3' }).end('{"statusCode":503,"message":"The market is busy."}'),
  )
  const counters = createLoadCounters()
  for (const call of [graphql.market.graphql('{ x }', {}), lsps1.market.lsps1('POST', '/cheapest/create_order', {})]) {
    const requestError = await call.catch((error: unknown) => error)
    expect(requestError).toMatchObject({ code: 'busy', pauseMs: undefined })
    expect(counters.recordError('buy: order', toKnownRequestError(requestError))).toBe(false)
  }
  expect(counters.counts()).toMatchObject({ refused: 2, errors: 0, throttles: 0 })
  expect(counters.errorCounts()).toEqual([])
})

test("the error of a refused connection has the operating system's code", async () => {
  const marketAddress = await resolveMarketAddress('http://127.0.0.1:1', false)
  const client = openHttpClient(marketAddress, { timeoutMs: 1000, signal: new AbortController().signal })
  await expect(client.send('GET', '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a request waits for a free connection, its timeout starts when it is sent, and the wait is reported', async () => {
  const responses: ServerResponse[] = []
  const { client, waits, pass, waitForRequests } = await startMarket((_, response) => void responses.push(response), {
    timeoutMs: 700,
    connections: 1,
  })
  const requests = Promise.all([client.send('GET', '/'), client.send('GET', '/')])
  for (const nth of [1, 2]) {
    await waitForRequests(nth)
    await pass(400)
    responses[nth - 1]?.end()
  }
  const both = await requests
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect(waits.map(({ hasLeft }) => hasLeft)).toEqual([true, true])
  expect(waits[0]?.ms).toBe(0)
  expect(waits[1]?.ms).toBe(400)
})

test('an unsent request differs from an unanswered one, and an unanswered request frees its connection', async () => {
  const receivedUrls: string[] = []
  const { client, waits, pass, waitForRequests } = await startMarket(
    ({ url = '' }, response) => {
      receivedUrls.push(url)
      if (url === '/quick') response.end()
    },
    { timeoutMs: 500, connections: 1 },
  )
  const silent = client.send('GET', '/silent', { timeoutMs: 200 })
  const unsent = client.send('GET', '/unsent', { timeoutMs: 100 })
  const quick = client.send('GET', '/quick')
  const errors = Promise.all([silent, unsent].map((request) => request.catch((error: unknown) => error)))
  await waitForRequests(1)
  await pass(200)
  const notSent = { code: 'not sent', message: expect.stringMatching(/^none of the 1 connections/) as unknown }
  expect(await errors).toMatchObject([{ code: 'time-out' }, notSent])
  expect((await quick).status).toBe(200)
  expect(receivedUrls).toEqual(['/silent', '/quick'])
  expect(waits.map(({ hasLeft }) => hasLeft)).toEqual([true, false, true])
  expect(waits[1]?.ms).toBe(100)
})

test('the client never exceeds its number of connections, and frees the connection of every failed request', async () => {
  let [openCount, maxOpen] = [0, 0]
  const waiting: (() => void)[] = []
  const { client, countSent } = await startMarket(
    ({ url = '' }, response) => {
      maxOpen = Math.max(maxOpen, ++openCount)
      response.on('close', () => openCount--)
      if (url === '/cut') return void response.destroy()
      if (url === '/half') return void response.writeHead(200, { 'content-length': 9 }).write('half', () => response.destroy())
      if (url === '/whole') return void response.end('whole')
      // No request is answered before three have arrived.
      if (waiting.push(() => void response.end()) === 3) for (const answer of waiting) answer()
    },
    { connections: 3 },
  )
  const paths = ['/whole', '/cut', '/half']
  const ended = await Promise.allSettled(Array.from({ length: 60 }, (_, index) => client.send('GET', paths[index % 3] ?? '')))
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
  await Promise.all(paths.map(() => client.send('GET', '/meet')))
  expect({ most: maxOpen, sent: countSent() }).toEqual({ most: 3, sent: 63 })
})

test('the end of the run aborts sent requests and requests that wait for a connection', async () => {
  const { client, stop, waits } = await startMarket(() => undefined, { timeoutMs: 60_000, connections: 1 })
  const both = [client.send('GET', '/'), client.send('GET', '/')]
  stop.abort()
  for (const request of both) await expect(request).rejects.toMatchObject({ code: 'stopped' })
  await expect(client.send('GET', '/')).rejects.toMatchObject({ code: 'stopped' })
  expect(waits.filter(({ hasLeft }) => !hasLeft)).toEqual([])
})
