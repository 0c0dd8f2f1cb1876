import { getIntrospectionQuery } from 'graphql'
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { BUYER_URI, sells } from './fake-market.contract.ts'
import { at, type GraphqlAnswer, type Stage, stage } from './stage.contract.ts'

const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
const input = { connection_uri: BUYER_URI, usd_cents: '500' }
const code = ({ errors }: GraphqlAnswer): unknown => errors?.[0]?.extensions['code']

let market: Stage
beforeEach(async () => {
  market = await stage({
    env: { PENSTOCK_BUY_PER_MINUTE: '0', PENSTOCK_ORDERS_PER_IP: '0', PENSTOCK_ORDERS_PER_DESTINATION: '0' },
  })
})
afterEach(() => market.close())

const post = (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  fetch(`${market.base}/graphql`, { method: 'POST', headers, body })

describe('everything well-formed is answered with 200', () => {
  const bodies: Record<string, string> = {
    'a query that does not parse': JSON.stringify({ query: '{ market {' }),
    'an unknown field': JSON.stringify({ query: '{ nope }' }),
    'broken JSON': '{"query":',
    'an empty body': '',
    'a list': '[]',
    'a text': '"{ market { id } }"',
    null: 'null',
    'no query': '{}',
    'a query that is a number': '{"query": 5}',
    'variables that are a list': '{"query": "{ market { id } }", "variables": []}',
    'variables that are a text': '{"query": "{ market { id } }", "variables": "{}"}',
    'an operation that is not there': JSON.stringify({ query: 'query A { market { id } }', operationName: 'B' }),
    'two operations without a name': JSON.stringify({ query: 'query A { market { id } } query B { market { id } }' }),
    'a variable of the wrong type': JSON.stringify({ query: BUY, variables: { input: { ...input, usd_cents: 500 } } }),
    'a persisted query': '{"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "00"}}}',
  }
  for (const [name, body] of Object.entries(bodies))
    test(`${name}`, async () => {
      const response = await post(body)
      const answer = (await response.json()) as GraphqlAnswer
      assert.equal(response.status, 200)
      assert.equal(code(answer), 'GRAPHQL_VALIDATION_FAILED')
      assert.ok((answer.errors?.[0]?.message.length ?? 0) > 10)
      assert.equal(market.sent.length, 0)
    })
  test('whatever the client accepts, it gets JSON', async () => {
    const response = await post(JSON.stringify({ query: '{ market { id } }' }), {
      'content-type': 'application/json; charset=utf-8',
      accept: 'text/html',
    })
    assert.equal(response.status, 200)
    assert.deepEqual(await response.json(), { data: { market: { id: 'market' } } })
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  })
})

test('413 over 1 MiB, 415 for what is not JSON', async () => {
  const big = await post(JSON.stringify({ query: '{ market { id } }', variables: { x: 'x'.repeat(1_048_576) } }))
  assert.equal(big.status, 413)
  assert.equal(code((await big.json()) as GraphqlAnswer), 'GRAPHQL_VALIDATION_FAILED')
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

test('a body that cannot be unpacked is answered as GraphQL', async () => {
  const response = await fetch(`${market.base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: 'this is no gzip',
  })
  const answer = (await response.json()) as GraphqlAnswer
  assert.deepEqual([response.status, code(answer)], [200, 'GRAPHQL_VALIDATION_FAILED'])
  assert.equal(answer.errors?.[0]?.message, 'The body cannot be unpacked.')
})

test('a subscription is a wish that cannot be fulfilled, and no fault of ours', async () => {
  for (const query of ['subscription { x }', 'subscription S { market { id } }']) {
    const answer = await market.gql(query)
    assert.deepEqual([answer.status, code(answer)], [200, 'GRAPHQL_VALIDATION_FAILED'])
  }
  assert.deepEqual(market.logged, [])
})

test('other methods are told which belong here', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const response = await fetch(`${market.base}/graphql`, { method })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, POST, OPTIONS'])
    assert.equal(code((await response.json()) as GraphqlAnswer), 'GRAPHQL_VALIDATION_FAILED')
  }
})

test('long texts of a caller are not repeated in an error', async () => {
  const answer = await market.gql(BUY, { input: { ...input, usd_cents: { deep: 'y'.repeat(100_000) } } })
  assert.ok((answer.errors?.[0]?.message.length ?? 9999) <= 301)
})

describe('limits of a query', () => {
  const deep = (levels: number): string =>
    Array.from({ length: levels }).reduce<string>((inner) => `... on Query { ${inner} }`, 'market { id }')
  test('depth counts fields, not fragments', async () => {
    assert.equal((await market.gql(`{ ${deep(20)} }`)).errors, undefined)
    await market.close()
    market = await stage({ env: { PENSTOCK_QUERY_DEPTH: '3' } })
    const answer = await market.gql('{ market { offer { offers { total_count } } } }')
    assert.match(answer.errors?.[0]?.message ?? '', /4 levels deep/)
  })
  test('aliases and pages cost', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `a${i}: id`).join(' ')
    assert.equal((await market.gql(`{ market { ${many} } }`)).errors, undefined)
    const costly = `query Q($page: PageInput) { market { offer { offers(page: $page) { list { ${Array.from({ length: 60 }, (_, i) => `a${i}: id`).join(' ')} } } } } }`
    assert.equal((await market.gql(costly, { page: { limit: 10 } })).errors, undefined)
    assert.match((await market.gql(costly, { page: { limit: 100 } })).errors?.[0]?.message ?? '', /costs \d+ points/)
  })
  test('fragments that multiply are refused quickly', async () => {
    const fragments = Array.from(
      { length: 60 },
      (_, i) => `fragment F${i} on Query { ...F${i + 1} x${i}: market { id } ...F${i + 1} }`,
    ).join('\n')
    const began = performance.now()
    const answer = await market.gql(`{ ...F0 } ${fragments} fragment F60 on Query { market { id } }`)
    assert.match(answer.errors?.[0]?.message ?? '', /costs/)
    assert.ok(performance.now() - began < 2000)
  })
  test('introspection is open, twice in a document and no more', async () => {
    assert.equal((await market.gql(getIntrospectionQuery())).errors, undefined)
    const looks = (many: number) => Array.from({ length: many }, (_, i) => `a${i}: __schema { types { name } }`).join(' ')
    assert.equal((await market.gql(`{ __typename ${looks(2)} }`)).errors, undefined)
    for (const many of [3, 200])
      assert.match((await market.gql(`{ ${looks(many)} }`)).errors?.[0]?.message ?? '', /costs \d+ points/)
  })
  test('the default of a variable counts like one that was sent', async () => {
    const fields = Array.from({ length: 60 }, (_, i) => `a${i}: id`).join(' ')
    const costly = `query Q($n: Int = 100) { market { offer { offers(page: { limit: $n }) { list { ${fields} } } } } }`
    assert.match((await market.gql(costly)).errors?.[0]?.message ?? '', /costs \d+ points/)
    assert.equal((await market.gql(costly, { n: 10 })).errors, undefined)
  })
})

test('a limit per minute answers 429 with everything a client needs to wait', async () => {
  await market.close()
  market = await stage({ env: { PENSTOCK_BUY_PER_MINUTE: '3' } })
  market.answers(sells(market))
  assert.equal((await market.gql(BUY, { input })).status, 200)
  // Every buy of a document counts, and none of them runs when they are too many together.
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

test('a fault of ours is short outside and whole in the log', async () => {
  market.answers(() => {
    throw new Error('secret table gateway_orders is on fire')
  })
  const answer = await market.gql(BUY, { input })
  assert.equal(answer.status, 200)
  assert.equal(code(answer), 'INTERNAL_SERVER_ERROR')
  const reference = String(answer.errors?.[0]?.extensions['reference'])
  assert.ok(answer.errors?.[0]?.message.includes(reference))
  assert.ok(!JSON.stringify(answer.errors).includes('gateway_orders'))
  const line = market.logged.find((fields) => 'reference' in fields && fields.reference === reference)
  assert.match(JSON.stringify(line), /gateway_orders is on fire/)
})

test('nobody is served before the service is ready; afterwards a dependency does not matter', async () => {
  let missing: string | undefined = 'read models'
  await market.close()
  market = await stage({ ready: () => missing })
  assert.equal((await fetch(`${market.base}/readyz`)).status, 503)
  assert.equal((await fetch(`${market.base}/healthz`)).status, 200)
  const early = await market.gql('{ market { id } }')
  assert.deepEqual([early.status, code(early)], [503, 'INTERNAL_SERVER_ERROR'])
  missing = undefined
  assert.equal((await fetch(`${market.base}/readyz`)).status, 200)
  assert.equal((await market.gql('{ market { id } }')).status, 200)
  missing = 'the node'
  assert.equal((await market.gql('{ market { id } }')).status, 200)
})

test('the explorer loads nothing from elsewhere, under a strict policy', async () => {
  const page = await fetch(`${market.base}/graphql`, { headers: { accept: 'text/html' } })
  const html = await page.text()
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.ok(policy.includes("default-src 'none'") && policy.includes("script-src 'self'") && !policy.includes('unsafe'))
  assert.ok(!/https?:\/\//.test(html))
  // Seen at once: a long query would push it below the window.
  assert.ok(html.indexOf('<button type="submit">') < html.indexOf('<textarea id="query"'))
  for (const [, path = ''] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g))
    assert.equal((await fetch(market.base + path)).status, 200, path)
  const script = await fetch(`${market.base}/graphql/explorer.mjs`)
  assert.match(script.headers.get('content-type') ?? '', /javascript/)
  assert.match(await (await fetch(`${market.base}/graphql/schema.graphql`)).text(), /type LiquidityMutations/)
})

test('other origins may call, and every answer has an id', async () => {
  const preflight = await fetch(`${market.base}/graphql`, { method: 'OPTIONS', headers: { origin: 'https://shop.example' } })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  const headers = preflight.headers.get('access-control-allow-headers')?.split(', ')
  for (const wanted of ['authorization', 'apollographql-client-name', 'apollographql-client-version'])
    assert.ok(headers?.includes(wanted), wanted)
  for (const wanted of ['x-apollo-operation-name', 'apollo-require-preflight']) assert.ok(headers?.includes(wanted), wanted)
  const answer = await market.gql('{ market { id } }')
  assert.match(answer.headers.get('x-request-id') ?? '', /^[\w-]{36}$/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('x-powered-by'), null)
  assert.match(answer.headers.get('strict-transport-security') ?? '', /^max-age=\d+$/)
})

test('an address that does not exist is a plain 404', async () => {
  const response = await fetch(`${market.base}/nowhere`)
  assert.equal(response.status, 404)
  assert.deepEqual(await response.json(), { statusCode: 404, message: 'There is nothing at this address.' })
})

test('closing finishes what is in hand', async () => {
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const reached = new Promise<void>((resolve) => {
    market.answers(async (ask, options) => {
      resolve()
      await held
      await sells(market)(ask, options)
    })
  })
  const buying = market.gql(BUY, { input })
  await reached
  const closing = market.closeServer()
  release()
  assert.ok(at(await buying, 'liquidity.buy.order.transaction_id'))
  await closing
})

test('a request that is cut off in its body harms nobody', async () => {
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
