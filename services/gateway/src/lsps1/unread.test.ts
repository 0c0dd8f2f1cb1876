import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { stage } from '../stage.contract.ts'
import { lsps1Routes } from './routes.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'

test('an order of which only the money is known cannot be read: it is not told as unknown', async () => {
  const outside = { peers: { addresses: async () => ({ alias: '', sockets: [] }) }, chain: { feeRate: async () => 5 } }
  const market = await stage({ mounts: [lsps1Routes(outside)] })
  onTestFinished(() => market.close())
  const asked = async () => (await fetch(`${market.base}/api/lsp/v1/cheapest/get_order?order_id=${ORDER}`)).status
  assert.equal(await asked(), 404)
  await market.happens('settlement', ORDER, [{ type: 'HoldRequested', data: { paymentHash: 'a'.repeat(64) } }])
  assert.equal(await asked(), 500)
})
