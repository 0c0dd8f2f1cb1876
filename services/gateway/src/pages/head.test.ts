import { deriveCheckoutToken } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI, answerWithOrders } from '../market/fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness } from '../gateway-harness.fixture.ts'
import { mountPageRoutes } from './routes.ts'

const BUY = 'mutation Buy($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'

let market: GatewayHarness
let token: string
beforeEach(async () => {
  market = await openGatewayHarness({ mounts: [mountPageRoutes] })
  market.respondWith(answerWithOrders(market))
  const answer = await market.gql(BUY, { input: { connection_uri: BUYER_URI, usd_cents: '500' } })
  token = deriveCheckoutToken(market.gateway.pepper, String(readPath(answer, 'liquidity.buy.order.transaction_id')))
})
afterEach(() => market.close())

type Answer = { readonly status: number | undefined; readonly type: string | undefined; readonly length: number }

/** Sends a request over the agent's one connection. */
const ask = (agent: Agent, method: string, path: string, accept = 'text/html'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(market.base + path, { agent, method, headers: { accept } }, (response) => {
      let length = 0
      response.on('data', (chunk: Uint8Array) => (length += chunk.length))
      response.on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], length }))
    })
    sent.on('error', reject).end()
  })

test.each(['checkout', 'orders'])('HEAD of a stream of %s answers its headers, ends and takes no place', async (kind) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; count < 30; count++)
    assert.deepEqual(await ask(agent, 'HEAD', `/${kind}/${token}/events`, 'text/event-stream'), {
      status: 200,
      type: 'text/event-stream; charset=utf-8',
      length: 0,
    })
  const page = await ask(agent, 'GET', `/${kind}/${token}`)
  assert.equal(page.status, 200)
  assert.ok(page.length > 1000)
  agent.destroy()
})

test.each(['/', '/nothing', '/checkout/short', '/assets/live.mjs', '/graphql'])(
  'HEAD of %s answers the headers of GET',
  async (path) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { status, type } = await ask(agent, 'GET', path)
    assert.deepEqual(await ask(agent, 'HEAD', path), { status, type, length: 0 })
    agent.destroy()
  },
)
