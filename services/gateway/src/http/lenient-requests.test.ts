import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { mountPageRoutes } from '../pages/routes.ts'
import { type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({ mounts: [mountPageRoutes] })
})
afterEach(() => market.close())

const body = JSON.stringify({ query: '{ market { id } }' })
const post = (type: string, path = '/graphql') =>
  fetch(market.base + path, { method: 'POST', headers: { 'content-type': type }, body })

describe('the content type of a JSON body', () => {
  test.each([
    'application/json; charset=utf8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    "application/json; charset='UTF8'",
    'Application/JSON; Charset = Utf-8',
    'application/json; charset=us-ascii',
    'application/json; odata.metadata=minimal; charset=utf8; version=1',
    'application/json; charset',
    'application/json;',
    'application/json ; boundary=---x y',
  ])('may be written as %s', async (type) => {
    const response = await post(type)
    assert.deepEqual([response.status, await response.json()], [200, { data: { market: { id: 'market' } } }])
  })

  test.each([
    'application/json; charset=latin9',
    'application/jsonp; charset=utf8',
    'text/plain; x=application/json',
    'text/plain;charset=UTF-8',
    '',
  ])('may not be "%s"', async (type) => {
    assert.equal((await post(type)).status, 415)
  })

  test('of a form may name its charset in any form too', async () => {
    for (const charset of ['utf8', '"UTF-8"', 'utf-8; x=y'])
      assert.equal((await post(`application/x-www-form-urlencoded; charset=${charset}`, '/orders/unknown/refund')).status, 404)
  })
})

describe('several slashes in a path', () => {
  test('count as one for an API', async () => {
    for (const path of ['//graphql', '/graphql//', '///graphql/'])
      assert.equal((await post('application/json', path)).status, 200, path)
    const query = '?query={market{id}}&operationName=//a//'
    assert.equal((await fetch(`${market.base}//graphql${query}`)).status, 200)
    assert.match(await (await fetch(`${market.base}//graphql//schema.graphql`)).text(), /type Query/)
  })
  test('lead to no other path', async () => {
    for (const path of ['//healthz', '//operator/parked', '//graphqlx', '/x//graphql'])
      assert.equal((await fetch(market.base + path)).status, 404, path)
  })
})
