import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBuyer, paySimulatedInvoice, getPayment } from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { createManualSeller } from './manual-seller.ts'

/** Number of blocks from the first submitted outpoint to the cancellation of the hold. */
const WINDOW = 6

let product: Product
beforeAll(async () => {
  product = await startProduct(makeTempFolder(), { PENSTOCK_SIM_BLOCK_SECONDS: '0' })
})
afterAll(async () => {
  await product.stop()
})

const inventOutpoint = (n: number): string => `${`${n}`.padStart(2, '0').repeat(32)}:0`

test('GIVEN a paid order WHEN its seller submits invented outpoints THEN the payment fails six blocks after the first', async () => {
  const mineBlocks = async (blocks: number) =>
    (await product.operator<{ height: number }>('POST', '/sim/mine', { blocks })).height
  const seller = await createManualSeller(product)
  const order = await seller.placeOrder(await findBuyer(product), false)
  await seller.accept(await waitUntil('the sale at the seller', () => seller.findSale(order), 30_000))
  const invoice = await waitUntil('the invoice', async () => (await seller.readInvoice(order)) ?? undefined, 30_000)
  const { payment_hash } = await paySimulatedInvoice(product, invoice)
  type ShownOrder = { readonly status: string; readonly attempts: readonly { readonly status: string }[] }
  const readShown = () => product.operator<ShownOrder>('GET', `/orders/${order.id}`)
  await waitUntil('the request to open', async () => (await readShown()).attempts[0]?.status === 'opening', 60_000)
  const first = await mineBlocks(1)
  await seller.submitOutpoint(order, inventOutpoint(1))
  await mineBlocks(3)
  await seller.submitOutpoint(order, inventOutpoint(2))
  await mineBlocks(1)
  await expect(seller.submitOutpoint(order, inventOutpoint(3))).rejects.toThrow(/could not be seen in time/)
  expect((await getPayment(product, payment_hash)).state).toBe('IN_FLIGHT')
  const last = await mineBlocks(2)
  expect(last - first).toBe(WINDOW)
  await waitUntil('the failed payment', async () => (await getPayment(product, payment_hash)).state === 'FAILED', 60_000)
  await waitUntil('the failed order', async () => (await readShown()).status === 'SELLER_FAILED_TO_SEND_SWAP', 30_000)
}, 170_000)
