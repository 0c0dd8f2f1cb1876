import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, beforeAll, test } from 'vitest'
import { buy, follow, order, pay } from '../harness/buyer.ts'
import { PATIENT, type Product, scratch, startProduct } from '../harness/product.ts'

const root = new URL('../..', import.meta.url).pathname
const run = promisify(execFile)
type Rebuilt = { readonly projection: string; readonly facts: number }

let product: Product | undefined
const running = (): Product => product ?? assert.fail('the product did not start')
beforeAll(async () => {
  product = await startProduct(scratch(), PATIENT)
}, 120_000)
afterAll(async () => void (await product?.stop()))

/** As an operator does. */
async function rebuild(...names: readonly string[]): Promise<readonly Rebuilt[]> {
  const { url, dataDir } = running()
  const args = ['packages/cli/src/main.ts', 'views', 'rebuild', '--json', ...names]
  const env = { ...process.env, PENSTOCK_URL: url, PENSTOCK_DATA_DIR: dataDir }
  const { stdout } = await run(process.execPath, args, { cwd: root, env })
  const { rebuilt } = JSON.parse(stdout) as { readonly rebuilt: readonly Rebuilt[] } // the command's own answer
  return rebuilt
}

test('read models that were spoiled are made anew while orders go on', { timeout: 120_000 }, async () => {
  const [first, second] = [await buy(running()), await buy(running())]
  const db = new DatabaseSync(join(running().dataDir, 'views.db'), { timeout: 5000 })
  db.prepare('DELETE FROM gateway_orders_v2 WHERE id = ?').run(first.id)
  db.prepare('UPDATE gateway_orders_v2 SET view = replace(view, ?, ?) WHERE id = ?').run(
    'WAITING_FOR_BUYER_PAYMENT',
    'LOST',
    second.id,
  )
  db.close()
  await assert.rejects(order(running(), first))
  await pay(running(), second.invoice)
  const [orders, ...others] = await rebuild('orders')
  assert.deepEqual([orders?.projection, others], ['orders', []])
  assert.ok((orders?.facts ?? 0) >= 4)
  assert.equal((await order(running(), first)).status, 'WAITING_FOR_BUYER_PAYMENT')
  await pay(running(), first.invoice)
  assert.deepEqual(
    (await rebuild()).map(({ projection }) => projection),
    ['orders', 'market', 'accounts'],
  )
  for (const one of [first, second])
    await follow(running(), one, ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'], 60_000)
})
