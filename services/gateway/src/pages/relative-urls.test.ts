import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../gateway-harness.fixture.ts'
import { createLspOpenApi } from '../lsps1/openapi.ts'
import { mountPageRoutes } from './routes.ts'

/** The proxy of this public address removes the path `/shop`. */
const PUBLIC = 'https://market.example/shop'
const BUY = 'mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({ mounts: [mountPageRoutes] })
  market.respondWith(answerWithOrders(market))
})
afterEach(() => market.close())

const visit = (path: string, init: RequestInit = {}) =>
  fetch(market.base + path, { headers: { accept: 'text/html' }, redirect: 'manual', ...init })

/** Reads a page like a browser that knows only the public address. @returns the public URLs of links, files, forms and itself */
async function readUrls(path: string, init?: RequestInit): Promise<readonly URL[]> {
  const html = await (await visit(path, init)).text()
  return [...html.matchAll(/ (?:href|src|action|data-page)="([^"#]*)"/g)]
    .map(([, url = '']) => new URL(url, `${PUBLIC}${path}`))
    .filter(({ protocol }) => protocol === 'https:')
}

async function assertReachable(urls: readonly URL[]): Promise<void> {
  for (const { origin, pathname, search } of urls) {
    assert.ok(`${origin}${pathname}`.startsWith(`${PUBLIC}/`), pathname)
    // This harness has no LSPS1 routes, and a form is not read by GET.
    if (pathname.startsWith('/shop/api/lsp/v1/') || pathname.endsWith('/refund')) continue
    assert.equal((await visit(pathname.slice('/shop'.length) + search)).status, 200, pathname)
  }
}

test.each(['/', '/nothing', '/nothing/', '//no/thing/at/all', '/graphql', '/graphql/', '/graphql//', '//graphql'])(
  'the links and files of %s are under the path of the public address',
  async (path) => {
    const urls = await readUrls(path)
    assert.ok(urls.length >= 3)
    await assertReachable(urls)
  },
)

test('a long path does not make the page "not found" much longer', async () => {
  const short = await (await visit('/nothing')).text()
  const long = await (await visit('/'.repeat(8000))).text()
  assert.ok(long.length < short.length + 2000)
})

test("the links, files, forms and streams of an order's pages are under the path of the public address", async () => {
  const answer = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
  const id = String(readPath(answer, 'liquidity.buy.order.transaction_id'))
  const token = deriveCheckoutToken(market.gateway.pepper, id)
  const [checkout, order] = [`/checkout/${token}`, `/orders/${token}`]
  const assertPage = async (path: string, self: string, init?: RequestInit) => {
    const urls = await readUrls(path, init)
    const paths = urls.map(({ pathname }) => pathname)
    // The script loads the page again, and opens its stream, at the address of the page.
    for (const expected of [self, '/assets/live.mjs', '/assets/pages.css'])
      assert.ok(paths.includes(`/shop${expected}`), expected)
    await assertReachable(urls)
    return paths
  }
  await assertPage(checkout, checkout)
  await assertPage(`${checkout}/`, checkout)
  assert.ok((await assertPage(order, order)).includes(`/shop${checkout}`))

  await market.projectFacts('order', id, [
    { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
    { type: 'OrderValid', data: { settledAt: NOW } },
  ])
  assert.ok((await assertPage(checkout, checkout)).includes(`/shop${order}`))

  const entry = (account: string, amountMsat: string) => ({ account, amountMsat })
  await market.projectFacts('settlement', id, [
    { type: 'HoldSettled', data: { settledAt: 1, receivedMsat: '3000000', confirmations: 3 } },
    { type: 'LedgerPosted', data: { posting: 'settled', entries: [entry('received', '2000000'), entry('payable', '-2000000')] } },
    { type: 'PayableClosed', data: { height: 1912, reason: 'The funding is gone.' } },
    {
      type: 'LedgerPosted',
      data: { posting: 'owed-to-buyer', entries: [entry('payable', '2000000'), entry('owed-to-buyer', '-2000000')] },
    },
  ])
  const form = `${order}/refund`
  assert.ok((await assertPage(order, order)).includes(`/shop${form}`))
  // A refused form shows the order's page at the address of the form.
  const refused = { method: 'POST', body: new URLSearchParams({ request: 'no invoice' }) }
  assert.ok((await assertPage(form, order, refused)).includes(`/shop${form}`))
})

test('the OpenAPI document of LSPS1 names its server relative to itself', () => {
  const [server] = createLspOpenApi(market.gateway.config).servers
  assert.equal(new URL(server?.url ?? '', `${PUBLIC}/api/lsp/v1/openapi.json`).href, `${PUBLIC}/api/lsp/v1`)
})
