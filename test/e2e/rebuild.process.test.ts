import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, test } from 'vitest'
import { buyChannel, waitForStatus, readOrder, paySimulatedInvoice } from '../support/market-client.ts'
import { LONG_TIMEOUT_SETTINGS, type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { runSuccessfully } from '../support/processes.ts'

const root = join(import.meta.dirname, '../..')
type RebuiltView = { readonly projection: string; readonly facts: number }

let product: Product | undefined
const running = (): Product => product ?? assert.fail('the product did not start')
beforeAll(async () => {
  product = await startProduct(makeTempFolder(), LONG_TIMEOUT_SETTINGS)
})
afterAll(async () => void (await product?.stop()))

/** Rebuilds read models by the operator's command. */
async function rebuild(...names: readonly string[]): Promise<readonly RebuiltView[]> {
  const { url, dataDir } = running()
  const args = ['packages/cli/src/main.ts', 'views', 'rebuild', '--json', ...names]
  const env = { ...process.env, PENSTOCK_URL: url, PENSTOCK_DATA_DIR: dataDir }
  const { stdout } = await runSuccessfully(process.execPath, args, { cwd: root, env })
  const { rebuilt } = JSON.parse(stdout) as { readonly rebuilt: readonly RebuiltView[] } // the command's own answer
  return rebuilt
}

test('damaged read models can be rebuilt while orders continue', async () => {
  const [first, second] = [await buyChannel(running()), await buyChannel(running())]
  const db = new DatabaseSync(join(running().dataDir, 'views.db'), { timeout: 5000 })
  db.prepare('DELETE FROM gateway_orders_v2 WHERE id = ?').run(first.id)
  db.prepare('UPDATE gateway_orders_v2 SET view = replace(view, ?, ?) WHERE id = ?').run(
    'WAITING_FOR_BUYER_PAYMENT',
    'LOST',
    second.id,
  )
  db.close()
  await assert.rejects(readOrder(running(), first))
  await paySimulatedInvoice(running(), second.invoice)
  const [orders, ...others] = await rebuild('orders')
  assert.deepEqual([orders?.projection, others], ['orders', []])
  assert.ok((orders?.facts ?? 0) >= 4)
  assert.equal((await readOrder(running(), first)).status, 'WAITING_FOR_BUYER_PAYMENT')
  await paySimulatedInvoice(running(), first.invoice)
  assert.deepEqual(
    (await rebuild()).map(({ projection }) => projection),
    ['orders', 'market', 'accounts', 'payments', 'service keys', 'webhook endpoints'],
  )
  for (const one of [first, second]) await waitForStatus(running(), one, ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'])
})
