import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { createClient, fetchExchange } from '@urql/core'
import { parse } from 'graphql'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { assertAllowedByGet } from './graphql/get-requests.ts'
import { type GraphqlResult, type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'

const OFFERS = 'query Book($page: PageInput) { market { id offer { id offers(page: $page) { id total_count } } } }'
const LOG_IN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const variables = { page: { limit: 5 } }
const empty = { id: 'market.offer.offers/limit=5/offset=0', total_count: 0 }

let market: GatewayHarness
let url: string
/** HTTP methods of the requests that the client sent. */
let sent: string[]
beforeEach(async () => {
  market = await openGatewayHarness()
  url = `${market.base}/graphql`
  sent = []
})
afterEach(() => market.close())

const recordingFetch: typeof fetch = (input, init) => {
  sent.push(init?.method ?? 'GET')
  return fetch(input, init)
}
const bookOf = (data: unknown): unknown => (data as { market: { offer: { offers: unknown } } }).market.offer.offers

describe('unmodified clients', () => {
  test('urql sends short queries by GET, and mutations by POST', async () => {
    const client = createClient({ url, exchanges: [fetchExchange], fetch: recordingFetch })
    const found = await client.query<unknown>(OFFERS, variables).toPromise()
    assert.equal(found.error, undefined)
    assert.deepEqual(bookOf(found.data), empty)
    const refused = await client.mutation(LOG_IN, { input: { email: 'a@example.org', password: 'no such password' } }).toPromise()
    assert.match(refused.error?.message ?? '', /e-mail|log/i)
    assert.deepEqual(sent, ['GET', 'POST'])
  })

  const apollo = (...links: ApolloLink[]) => new ApolloClient({ link: ApolloLink.from(links), cache: new InMemoryCache() })

  test('Apollo sends queries by GET if it is configured so', async () => {
    const client = apollo(new HttpLink({ uri: url, fetch: recordingFetch, useGETForQueries: true }))
    const { data } = await client.query({ query: gql(OFFERS), variables })
    assert.equal((bookOf(data) as typeof empty).total_count, 0)
    assert.deepEqual(sent, ['GET'])
  })

  test.each([true, false])('Apollo sends the text of a query after a refused hash (by GET: %s)', async (useGETForQueries) => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
    const link = new PersistedQueryLink({ sha256, useGETForHashedQueries: useGETForQueries })
    const client = apollo(link, new HttpLink({ uri: url, fetch: recordingFetch, useGETForQueries }))
    const { data } = await client.query({ query: gql(OFFERS), variables })
    assert.equal((bookOf(data) as typeof empty).total_count, 0)
    assert.equal(sent.length, 2)
  })
})

const get = async (params: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}?${new URLSearchParams(params).toString()}`, { headers })
  return { response, answer: (await response.json()) as GraphqlResult }
}

describe('by GET', () => {
  test('a query is answered as by POST, whatever its Accept header says, and is not cached', async () => {
    for (const accept of ['*/*', 'text/html', 'application/graphql-response+json']) {
      const params = { query: OFFERS, variables: JSON.stringify(variables), operationName: 'Book', extensions: '' }
      const { response, answer } = await get(params, { accept })
      assert.deepEqual([response.status, response.headers.get('cache-control')], [200, 'no-store'])
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      assert.deepEqual(bookOf(answer.data), empty)
    }
  })

  test('a mutation is refused with a message that requires POST', async () => {
    const input = { email: 'a@example.org', password: 'a long password' }
    const { response, answer } = await get({ query: LOG_IN, variables: JSON.stringify({ input }) })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'])
    assert.equal(answer.errors?.[0]?.message, 'GET accepts only queries; send mutations by POST.')
    assert.deepEqual(answer.errors?.[0]?.extensions, { code: 'GRAPHQL_VALIDATION_FAILED' })
    assert.equal(market.sent.length, 0)
  })

  test('operationName selects the operation that GET accepts or refuses', async () => {
    const query = `${OFFERS} ${LOG_IN}`
    const { answer } = await get({ query, operationName: 'Book', variables: JSON.stringify(variables) })
    assert.deepEqual(bookOf(answer.data), empty)
    const input = { email: 'a@example.org', password: 'a long password' }
    const { response } = await get({ query, operationName: 'L', variables: JSON.stringify({ input }) })
    assert.equal(response.status, 405)
  })

  test('a query with a secret argument is refused like a mutation', () => {
    const byGet = (text: string) => {
      const document = parse(text)
      const [operation] = document.definitions
      assert.ok(operation?.kind === 'OperationDefinition')
      assertAllowedByGet(document, operation)
    }
    for (const secret of ['password_hash: "x"', 'input: { a: 1 }, macaroon: "x"'])
      assert.throws(() => byGet(`{ payment { wallet { node_permissions(${secret}) { id } } } }`), /Send this query by POST/)
    byGet('{ market { offer { offer(offer_id: "x") { id } } } }')
  })

  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['no query', 'variables={}', /^query must be a text/],
    ['an empty query', 'query=', /^query must be a text/],
    ['two queries', 'query={market{id}}&query={market{id}}', /^query must occur once/],
    ['variables that are no JSON', 'query={market{id}}&variables={', /^variables must be an object as JSON/],
    ['variables that are a list', 'query={market{id}}&variables=[]', /^variables must be an object/],
    ['a query that does not parse', 'query={market', /Syntax Error/],
  ]
  test.each(wrong)('a request with %s gets a validation error', async (_, params, message) => {
    const response = await fetch(`${url}?${params}`)
    const { errors } = (await response.json()) as GraphqlResult
    assert.equal(response.status, 200)
    assert.match(errors?.[0]?.message ?? '', message)
    assert.equal(errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
  })

  test('an invalid credential is refused', async () => {
    const { response, answer } = await get({ query: '{ market { id } }' }, { authorization: 'Bearer nonsense' })
    assert.deepEqual([response.status, answer.errors?.[0]?.message], [200, 'Unauthorized token'])
  })

  test('no query is answered before the service is ready', async () => {
    await market.close()
    market = await openGatewayHarness({ ready: () => 'the read models' })
    assert.equal((await fetch(`${market.base}/graphql?query={market{id}}`)).status, 503)
  })
})

test('a hash without its query gets PersistedQueryNotSupported, and a hash with its query is ignored', async () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'ab'.repeat(32) } }
  const post = async (body: object) =>
    (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json()
  const { answer } = await get({ extensions: JSON.stringify(extensions) })
  for (const { errors } of [answer, (await post({ extensions })) as GraphqlResult]) {
    assert.equal(errors?.[0]?.message, 'PersistedQueryNotSupported')
    assert.equal(errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
  }
  assert.deepEqual(await post({ query: '{ market { id } }', extensions }), { data: { market: { id: 'market' } } })
})

test('/graphql/ answers like /graphql', async () => {
  const path = `${url}/`
  const body = JSON.stringify({ query: OFFERS, variables })
  const posted = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const read = await fetch(`${path}?${new URLSearchParams({ query: OFFERS, variables: JSON.stringify(variables) }).toString()}`)
  for (const response of [posted, read]) {
    assert.deepEqual([response.status, response.redirected], [200, false])
    assert.deepEqual(bookOf(((await response.json()) as GraphqlResult).data), empty)
  }
  const mutation = await fetch(
    `${path}?${new URLSearchParams({ query: 'mutation { account { logout { success } } }' }).toString()}`,
  )
  assert.deepEqual([mutation.status, mutation.headers.get('allow')], [405, 'POST'])
  assert.equal((await fetch(path, { method: 'PUT' })).status, 405)
  assert.equal((await fetch(path, { method: 'OPTIONS' })).headers.get('access-control-allow-origin'), '*')
  const page = await fetch(path, { headers: { accept: 'text/html' } })
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
})

describe('the explorer', () => {
  const CHROMIUM = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  test('is served to a browser, and to no other client', async () => {
    const page = await fetch(url, { headers: { accept: CHROMIUM } })
    assert.deepEqual([page.status, page.headers.get('vary')], [200, 'accept'])
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9']) {
      const response = await fetch(url, { headers: { accept } })
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.match(((await response.json()) as GraphqlResult).errors?.[0]?.message ?? '', /^query must be a text/)
    }
  })
  test('is not served if the URL contains a query or the hash of a query', async () => {
    const { answer } = await get({ query: '{ market { id } }' }, { accept: CHROMIUM })
    assert.deepEqual(answer.data, { market: { id: 'market' } })
    const { answer: ofHash } = await get({ extensions: JSON.stringify({ persistedQuery: {} }) }, { accept: CHROMIUM })
    assert.equal(ofHash.errors?.[0]?.message, 'PersistedQueryNotSupported')
  })
})
