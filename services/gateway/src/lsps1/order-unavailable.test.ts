import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { openGatewayHarness } from '../gateway-harness.fixture.ts'
import { createLsps1Mount } from './routes.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'

test('get_order answers with status 500, not 404, if only settlement facts of the order are known', async () => {
  const nodeSources = { peers: { addresses: async () => ({ alias: '', sockets: [] }) }, chain: { feeRate: async () => 5 } }
  const market = await openGatewayHarness({ mounts: [createLsps1Mount(nodeSources)] })
  onTestFinished(() => market.close())
  const fetchStatus = async () => (await fetch(`${market.base}/api/lsp/v1/cheapest/get_order?order_id=${ORDER}`)).status
  assert.equal(await fetchStatus(), 404)
  await market.projectFacts('settlement', ORDER, [{ type: 'HoldRequested', data: { paymentHash: 'a'.repeat(64) } }])
  assert.equal(await fetchStatus(), 500)
})
