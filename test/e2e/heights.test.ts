import assert from 'node:assert/strict'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { behave, buy, buyerOf, follow, pay, payment, type SimNode, simNodes } from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import type { Report } from '../harness/report.ts'

type Whole = Report & {
  readonly hold: { readonly expiry_height: number | null }
  readonly timeline: readonly { readonly stream: string; readonly fact: string; readonly data: unknown }[]
}

let product: Product
let sellers: readonly SimNode[]

beforeAll(async () => {
  // Blocks come by hand, and nothing ends by the clock.
  product = await startProduct(scratch(), { PENSTOCK_SIM_BLOCK_SECONDS: '0', PENSTOCK_OPEN_WINDOW_SECONDS: '600' })
  sellers = (await simNodes(product)).filter(({ role }) => role === 'seller')
})
afterAll(async () => {
  assert.equal(await product.stop(), 0)
})

const all = async (how: string): Promise<void> => {
  for (const { alias } of sellers) await behave(product, alias, how)
}
const mine = async (blocks: number): Promise<number> =>
  (await product.operator<{ height: number }>('POST', '/sim/mine', { blocks })).height
const outpoints = async (): Promise<readonly string[]> =>
  (await product.operator<readonly { outpoint: string }[]>('GET', `/sim/channels/${(await buyerOf(product)).alias}`)).map(
    ({ outpoint }) => outpoint,
  )

test('a seller that names when too few blocks are left: the payment is back at once, and nobody is blamed', async () => {
  const before = await outpoints()
  const bought = await buy(product)
  const shown = () => product.operator<Whole>('GET', `/orders/${bought.id}`)
  await all('never-open')
  const { payment_hash: hash } = await pay(product, bought.invoice)
  await until('the seller is asked', async () => (await shown()).attempts[0]?.status === 'opening', 60_000)
  const { expiry_height: expiry } = (await shown()).hold
  assert.ok(expiry !== null)
  // E - 42 is the last: 24 of the guard, 6 to spare, 6 for the transaction, 6 for its confirmations.
  const left = expiry - 41 - (await mine(1))
  assert.ok(left > 0)
  assert.equal(await mine(left), expiry - 41)
  await all('ok')
  expect(await follow(product, bought, ['SELLER_FAILED_TO_OPEN_CHANNEL'])).toMatchObject({
    payment_status: 'SUCCESSFUL_PAYMENT',
  })
  assert.equal((await payment(product, hash)).state, 'FAILED')
  const { attempts, timeline, hold } = await shown()
  assert.equal(hold.status, 'cancelled')
  assert.equal(attempts.length, 1)
  const of = (type: string) => timeline.filter(({ stream, fact }) => stream === 'order' && fact === type)
  assert.equal(of('OutpointRefused').length, 1)
  expect(of('ReleaseRequested')).toMatchObject([
    { data: { reason: 'The payment expires too soon for another opening', blamed: false } },
  ])
  assert.deepEqual(of('AttemptFailed'), [])
  await until('what the seller prepared is gone', async () => (await outpoints()).length === before.length, 30_000)
})
