import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buyerOf, pay, payment } from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { handSeller } from './hand-seller.ts'

/** Blocks after the first naming, and a moment for those who look. */
const WINDOW = 6

let product: Product
beforeAll(async () => {
  product = await startProduct(scratch(), { PENSTOCK_SIM_BLOCK_SECONDS: '0' })
})
afterAll(async () => {
  await product.stop()
})

const invented = (n: number): string => `${`${n}`.padStart(2, '0').repeat(32)}:0`

test('GIVEN a paid order WHEN its seller names invented transactions THEN the payment is back six blocks after the first', async () => {
  const mine = async (blocks: number) => (await product.operator<{ height: number }>('POST', '/sim/mine', { blocks })).height
  const seller = await handSeller(product)
  const order = await seller.order(await buyerOf(product), false)
  await seller.accept(await until('the sale', () => seller.sale(order), 30_000))
  const invoice = await until('the invoice', async () => (await seller.invoice(order)) ?? undefined, 30_000)
  const { payment_hash } = await pay(product, invoice)
  type Shown = { readonly status: string; readonly attempts: readonly { readonly status: string }[] }
  const shown = () => product.operator<Shown>('GET', `/orders/${order.id}`)
  await until('the seller is asked to open', async () => (await shown()).attempts[0]?.status === 'opening', 60_000)
  const first = await mine(1)
  await seller.name(order, invented(1))
  await mine(3)
  await seller.name(order, invented(2))
  await mine(1)
  await expect(seller.name(order, invented(3))).rejects.toThrow(/could not be seen in time/)
  expect((await payment(product, payment_hash)).state).toBe('IN_FLIGHT')
  const last = await mine(2)
  expect(last - first).toBe(WINDOW)
  await until('the payment is back', async () => (await payment(product, payment_hash)).state === 'FAILED', 60_000)
  await until('the order says so', async () => (await shown()).status === 'SELLER_FAILED_TO_SEND_SWAP', 30_000)
}, 170_000)
