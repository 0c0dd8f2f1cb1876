import { getIntrospectionQuery } from 'graphql'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GraphqlResult, type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'

const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
const input = { connection_uri: BUYER_URI, usd_cents: '500' }
const code = ({ errors }: GraphqlResult): unknown => errors?.[0]?.extensions['code']

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
  })
})
afterEach(() => market.close())

const post = (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  fetch(`${market.base}/graphql`, { method: 'POST', headers, body })

describe('a request with JSON as its content type is answered with status 200', () => {
  const bodies: Record<string, string> = {
    'a query that does not parse': JSON.stringify({ query: '{ market {' }),
    'an unknown field': JSON.stringify({ query: '{ nope }' }),
    'broken JSON': '{"query":',
    'an empty body': '',
    'a list as the body': '[]',
    'a string as the body': '"{ market { id } }"',
    'null as the body': 'null',
    'a body without a query': '{}',
    'a query that is a number': '{"query": 5}',
    'variables that are a list': '{"query": "{ market { id } }", "variables": []}',
    'variables that are a string': '{"query": "{ market { id } }", "variables": "{}"}',
    'an unknown operation name': JSON.stringify({ query: 'query A { market { id } }', operationName: 'B' }),
    'two operations without a name': JSON.stringify({ query: 'query A { market { id } } query B { market { id } }' }),
    'a variable of the wrong type': JSON.stringify({ query: BUY, variables: { input: { ...input, usd_cents: 500 } } }),
    'a persisted query': '{"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "00"}}}',
  }
  for (const [name, body] of Object.entries(bodies))
    test(`and an error for ${name}`, async () => {
      const response = await post(body)
      const answer = (await response.json()) as GraphqlResult
      assert.equal(response.status, 200)
      assert.equal(code(answer), 'GRAPHQL_VALIDATION_FAILED')
      assert.ok((answer.errors?.[0]?.message.length ?? 0) > 10)
      assert.equal(market.sent.length, 0)
    })
  test('and JSON, whatever its Accept header says', async () => {
    const response = await post(JSON.stringify({ query: '{ market { id } }' }), {
      'content-type': 'application/json; charset=utf-8',
      accept: 'text/html',
    })
    assert.equal(response.status, 200)
    assert.deepEqual(await response.json(), { data: { market: { id: 'market' } } })
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  })
})

test('a body over 1 MiB gets status 413, and a body that is not JSON gets status 415', async () => {
  const big = await post(JSON.stringify({ query: '{ market { id } }', variables: { x: 'x'.repeat(1_048_576) } }))
  assert.equal(big.status, 413)
  assert.equal(code((await big.json()) as GraphqlResult), 'GRAPHQL_VALIDATION_FAILED')
  const fits = await post(JSON.stringify({ query: '{ market { id } }', variables: { x: 'x'.repeat(1_048_000) } }))
  assert.equal(fits.status, 200)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
  ])
    assert.equal((await post('{"query":"{ market { id } }"}', { 'content-type': type })).status, 415, type)
  assert.equal(
    (await post('{"query":"{ market { id } }"}', { 'content-type': 'application/json', 'content-encoding': 'nope' })).status,
    415,
  )
})

test('a body that cannot be decompressed gets a GraphQL error', async () => {
  const response = await fetch(`${market.base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: 'this is no gzip',
  })
  const answer = (await response.json()) as GraphqlResult
  assert.deepEqual([response.status, code(answer)], [200, 'GRAPHQL_VALIDATION_FAILED'])
  assert.equal(answer.errors?.[0]?.message, 'The body cannot be decompressed.')
})

test('a subscription gets a validation error, and is not logged as an internal error', async () => {
  for (const query of ['subscription { x }', 'subscription S { market { id } }']) {
    const answer = await market.gql(query)
    assert.deepEqual([answer.status, code(answer)], [200, 'GRAPHQL_VALIDATION_FAILED'])
  }
  assert.deepEqual(market.loggedErrors, [])
})

test('another HTTP method gets status 405 with the list of allowed methods', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const response = await fetch(`${market.base}/graphql`, { method })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, POST, OPTIONS'])
    assert.equal(code((await response.json()) as GraphqlResult), 'GRAPHQL_VALIDATION_FAILED')
  }
})

test('an error does not repeat a long text of the caller', async () => {
  const answer = await market.gql(BUY, { input: { ...input, usd_cents: { deep: 'y'.repeat(100_000) } } })
  assert.ok((answer.errors?.[0]?.message.length ?? 9999) <= 301)
})

describe('limits of a query', () => {
  const deep = (levels: number): string =>
    Array.from({ length: levels }).reduce<string>((inner) => `... on Query { ${inner} }`, 'market { id }')
  test('the depth limit counts fields, not fragments', async () => {
    assert.equal((await market.gql(`{ ${deep(20)} }`)).errors, undefined)
    await market.close()
    market = await openGatewayHarness({ env: { PENSTOCK_QUERY_DEPTH: '3' } })
    const answer = await market.gql('{ market { offer { offers { total_count } } } }')
    assert.match(answer.errors?.[0]?.message ?? '', /4 levels deep/)
  })
  test('aliases and page sizes add to the cost', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `a${i}: id`).join(' ')
    assert.equal((await market.gql(`{ market { ${many} } }`)).errors, undefined)
    const costly = `query Q($page: PageInput) { market { offer { offers(page: $page) { list { ${Array.from({ length: 60 }, (_, i) => `a${i}: id`).join(' ')} } } } } }`
    assert.equal((await market.gql(costly, { page: { limit: 10 } })).errors, undefined)
    assert.match((await market.gql(costly, { page: { limit: 100 } })).errors?.[0]?.message ?? '', /costs \d+ points/)
  })
  test('a document whose fragments multiply is refused before it is expanded', async () => {
    const fragments = Array.from(
      { length: 60 },
      (_, i) => `fragment F${i} on Query { ...F${i + 1} x${i}: market { id } ...F${i + 1} }`,
    ).join('\n')
    // The expanded document would have 2^60 fields.
    const answer = await market.gql(`{ ...F0 } ${fragments} fragment F60 on Query { market { id } }`)
    assert.match(answer.errors?.[0]?.message ?? '', /costs/)
  })
  test('introspection is allowed at most twice per document', async () => {
    assert.equal((await market.gql(getIntrospectionQuery())).errors, undefined)
    const introspect = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: __schema { types { name } }`).join(' ')
    assert.equal((await market.gql(`{ __typename ${introspect(2)} }`)).errors, undefined)
    for (const count of [3, 200])
      assert.match((await market.gql(`{ ${introspect(count)} }`)).errors?.[0]?.message ?? '', /costs \d+ points/)
  })
  test('the default of a variable counts like a value that was sent', async () => {
    const fields = Array.from({ length: 60 }, (_, i) => `a${i}: id`).join(' ')
    const costly = `query Q($n: Int = 100) { market { offer { offers(page: { limit: $n }) { list { ${fields} } } } } }`
    assert.match((await market.gql(costly)).errors?.[0]?.message ?? '', /costs \d+ points/)
    assert.equal((await market.gql(costly, { n: 10 })).errors, undefined)
  })
})

test('a request over the limit per minute gets status 429 and headers with the time to wait', async () => {
  await market.close()
  market = await openGatewayHarness({ env: { PENSTOCK_BUY_PER_MINUTE: '3' } })
  market.respondWith(answerWithOrders(market))
  assert.equal((await market.gql(BUY, { input })).status, 200)
  // Every buy of a document counts; if together they exceed the limit, none of them runs.
  const three =
    'mutation T($input: LiquidityOrderInput!) { liquidity { a: buy(input: $input) { id } b: buy(input: $input) { id } c: buy(input: $input) { id } } }'
  const sentBefore = market.sent.length
  const answer = await market.gql(three, { input })
  assert.equal(answer.status, 429)
  assert.equal(code(answer), 'FORBIDDEN')
  assert.equal(market.sent.length, sentBefore)
  assert.match(answer.headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/)
  assert.match(answer.headers.get('ratelimit') ?? '', /^"buy";r=0;t=\d+$/)
  assert.equal(answer.headers.get('ratelimit-policy'), '"buy";q=3;w=60')
  assert.equal((await market.gql('{ market { id } }')).status, 200)
})

test('an internal error is logged in full, and its caller gets only a reference to the log line', async () => {
  market.respondWith(() => {
    throw new Error('secret table gateway_orders is on fire')
  })
  const answer = await market.gql(BUY, { input })
  assert.equal(answer.status, 200)
  assert.equal(code(answer), 'INTERNAL_SERVER_ERROR')
  const reference = String(answer.errors?.[0]?.extensions['reference'])
  assert.ok(answer.errors?.[0]?.message.includes(reference))
  assert.ok(!JSON.stringify(answer.errors).includes('gateway_orders'))
  const line = market.loggedErrors.find((fields) => 'reference' in fields && fields.reference === reference)
  assert.match(JSON.stringify(line), /gateway_orders is on fire/)
})

test('the service refuses requests until it is ready, and serves them when a dependency fails later', async () => {
  let missing: string | undefined = 'read models'
  await market.close()
  market = await openGatewayHarness({ ready: () => missing })
  assert.equal((await fetch(`${market.base}/readyz`)).status, 503)
  assert.equal((await fetch(`${market.base}/healthz`)).status, 200)
  const countFaults = async () => {
    const metric = await registry.getSingleMetric('penstock_graphql_errors_total')?.get()
    return metric?.values.reduce((total, { value }) => total + value, 0)
  }
  const earlierFaults = await countFaults()
  const earlyAnswer = await market.gql('{ market { id } }')
  assert.deepEqual([earlyAnswer.status, code(earlyAnswer)], [503, 'INTERNAL_SERVER_ERROR'])
  assert.deepEqual(await countFaults(), earlierFaults)
  missing = undefined
  assert.equal((await fetch(`${market.base}/readyz`)).status, 200)
  assert.equal((await market.gql('{ market { id } }')).status, 200)
  missing = 'the node'
  assert.equal((await market.gql('{ market { id } }')).status, 200)
})

test('the explorer loads nothing from another origin, and has a strict content security policy', async () => {
  const page = await fetch(`${market.base}/graphql`, { headers: { accept: 'text/html' } })
  const html = await page.text()
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.ok(policy.includes("default-src 'none'") && policy.includes("script-src 'self'") && !policy.includes('unsafe'))
  const features = page.headers.get('permissions-policy')?.split(', ') ?? []
  for (const expected of ['camera=()', 'microphone=()', 'geolocation=()', 'payment=()', 'clipboard-write=(self)'])
    assert.ok(features.includes(expected), expected)
  assert.ok(!/https?:\/\//.test(html))
  // The button precedes the query field, because a long query would push it out of the window.
  assert.ok(html.indexOf('<button type="submit">') < html.indexOf('<textarea id="query"'))
  for (const [, path = ''] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g))
    assert.equal((await fetch(market.base + path)).status, 200, path)
  const script = await fetch(`${market.base}/graphql/explorer.mjs`)
  assert.match(script.headers.get('content-type') ?? '', /javascript/)
  assert.match(await (await fetch(`${market.base}/graphql/schema.graphql`)).text(), /type LiquidityMutations/)
})

test('other origins may call the API, and every answer has a request id', async () => {
  const origin = 'https://shop.example'
  const asked = [
    'authorization,content-type',
    'apollo-require-preflight,apollographql-client-name,apollographql-client-version,x-apollo-operation-name',
    'baggage,sentry-trace,traceparent,tracestate,x-datadog-trace-id',
    'x-header-of-tomorrow',
  ]
  for (const names of [undefined, ...asked]) {
    const headers = { origin, 'access-control-request-method': 'POST', ...(names && { 'access-control-request-headers': names }) }
    const preflight = await fetch(`${market.base}/graphql`, { method: 'OPTIONS', headers })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
    assert.equal(preflight.headers.get('access-control-allow-headers'), names ?? 'authorization, content-type')
    assert.match(preflight.headers.get('vary') ?? '', /access-control-request-headers/i)
    // With this header, browsers would send cookies.
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  }
  const answer = await market.gql('{ market { id } }')
  assert.match(answer.headers.get('x-request-id') ?? '', /^[\w-]{36}$/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('x-powered-by'), null)
  assert.match(answer.headers.get('strict-transport-security') ?? '', /^max-age=\d+$/)
})

test('an unknown path gets a plain 404', async () => {
  const response = await fetch(`${market.base}/nowhere`)
  assert.equal(response.status, 404)
  assert.deepEqual(await response.json(), { statusCode: 404, message: 'There is nothing at this address.' })
})

test('closing the server waits for the running request', async () => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const commandArrived = new Promise<void>((resolve) => {
    market.respondWith(async (ask, options) => {
      resolve()
      await released
      await answerWithOrders(market)(ask, options)
    })
  })
  const buying = market.gql(BUY, { input })
  await commandArrived
  const closing = market.closeServer()
  release()
  assert.ok(readPath(await buying, 'liquidity.buy.order.transaction_id'))
  await closing
})

test('a request that is cut off within its body does not affect later requests', async () => {
  const { hostname, port } = new URL(market.base)
  await new Promise<void>((resolve) => {
    const cut = request({
      hostname,
      port,
      path: '/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': 1000 },
    })
    cut.on('error', () => resolve())
    cut.write('{"query":', () => cut.destroy())
  })
  assert.equal((await market.gql('{ market { id } }')).status, 200)
})
