import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'
import { mountPageRoutes } from './routes.ts'

const BUY = 'mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
/** The header of a browser's navigation. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({ mounts: [mountPageRoutes] })
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

const paths = ['/checkout/%', '/checkout/%E0%A4%A', '/orders/%ff', '/orders/%ff/events', '/orders/abc%2/refund', '/%c0%ae/%']

test.each(paths)('the malformed address %s is answered with the page "not found"', async (path) => {
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(market.base + path, { method, headers: { accept: BROWSER } })
    assert.deepEqual([response.status, response.headers.get('content-type')], [404, 'text/html; charset=utf-8'])
    assert.equal(response.headers.get('cache-control'), 'no-store')
    if (method === 'GET') assert.match(await response.text(), /There is nothing at this address/)
  }
})

test('a malformed address is answered with JSON for a program', async () => {
  const response = await fetch(`${market.base}/checkout/%`, { headers: { accept: '*/*' } })
  assert.deepEqual([response.status, await response.json()], [400, { statusCode: 400, message: 'The request is malformed.' }])
})

async function openOrderPath(): Promise<string> {
  const answer = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
  return `/orders/${deriveCheckoutToken(market.gateway.pepper, String(readPath(answer, 'liquidity.buy.order.transaction_id')))}`
}

test.each([
  ['too long', { body: new URLSearchParams({ request: 'x'.repeat(20_000) }) }, 413],
  [
    'of an unknown character set',
    { body: 'request=x', headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-7' } },
    415,
  ],
  ['with an unknown encoding', { body: 'request=x', headers: { 'content-encoding': 'zip' } }, 415],
])('a form that is %s is answered with a page', async (_, { body, headers = {} }: FormInput, status) => {
  const url = `${market.base}${await openOrderPath()}/refund`
  const response = await fetch(url, { method: 'POST', body, headers: { accept: BROWSER, ...headers } })
  assert.deepEqual([response.status, response.headers.get('content-type')], [status, 'text/html; charset=utf-8'])
  assert.match(await response.text(), /<h1>This request could not be read<\/h1>/)
})
type FormInput = { readonly body: URLSearchParams | string; readonly headers?: Record<string, string> }

test('a fault of the server is answered with a page that names the entry of the log', async () => {
  const path = await openOrderPath()
  await market.gateway.views.db.schema.dropTable('gateway_orders_v2').execute()
  const response = await fetch(market.base + path, { headers: { accept: BROWSER } })
  assert.deepEqual([response.status, response.headers.get('content-type')], [500, 'text/html; charset=utf-8'])
  const html = await response.text()
  assert.match(html, /<h1>Something went wrong here<\/h1>/)
  const [, reference] = /<code>([\w-]{36})<\/code>/.exec(html) ?? []
  assert.ok(JSON.stringify(market.loggedErrors).includes(reference ?? 'no reference'))
})
