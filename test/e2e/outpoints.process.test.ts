import assert from 'node:assert/strict'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  setBehaviour,
  buyChannel,
  findBuyer,
  waitForStatus,
  paySimulatedInvoice,
  getPayment,
  type SimulatedNode,
  listSimNodes,
} from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import type { OrderReport } from '../support/order-report.ts'
import { createManualSeller } from './manual-seller.ts'

/** In this file, sellers submit outpoints too late, or invent them. */

type OrderReportWithFacts = OrderReport & {
  readonly hold: { readonly expiry_height: number | null }
  readonly timeline: readonly { readonly stream: string; readonly fact: string; readonly data: unknown }[]
}

/** Number of blocks from the first submitted outpoint to the cancellation of the hold. */
const WINDOW = 6

let product: Product
let sellers: readonly SimulatedNode[]

beforeAll(async () => {
  // The test mines every block, and the opening window does not end during the test.
  product = await startProduct(makeTempFolder(), { PENSTOCK_SIM_BLOCK_SECONDS: '0', PENSTOCK_OPEN_WINDOW_SECONDS: '600' })
  sellers = (await listSimNodes(product)).filter(({ role }) => role === 'seller')
})
afterAll(async () => {
  assert.equal(await product.stop(), 0)
})

const setAllBehaviours = async (how: string): Promise<void> => {
  for (const { alias } of sellers) await setBehaviour(product, alias, how)
}
const mineBlocks = async (blocks: number): Promise<number> =>
  (await product.operator<{ height: number }>('POST', '/sim/mine', { blocks })).height
const listOutpoints = async (): Promise<readonly string[]> =>
  (await product.operator<readonly { outpoint: string }[]>('GET', `/sim/channels/${(await findBuyer(product)).alias}`)).map(
    ({ outpoint }) => outpoint,
  )

test('an outpoint submitted too late is refused: the hold is cancelled at once, and the seller is not blamed', async () => {
  const before = await listOutpoints()
  const bought = await buyChannel(product)
  const readReport = () => product.operator<OrderReportWithFacts>('GET', `/orders/${bought.id}`)
  await setAllBehaviours('never-open')
  const { payment_hash: hash } = await paySimulatedInvoice(product, bought.invoice)
  await waitUntil('the request to the seller', async () => (await readReport()).attempts[0]?.status === 'opening')
  const { expiry_height: expiry } = (await readReport()).hold
  assert.ok(expiry !== null)
  // E - 42 is the last height for a submission: 24 blocks for the guard, 6 spare, 6 for the broadcast, 6 for confirmations.
  const blocksLeft = expiry - 41 - (await mineBlocks(1))
  assert.ok(blocksLeft > 0)
  assert.equal(await mineBlocks(blocksLeft), expiry - 41)
  await setAllBehaviours('ok')
  expect(await waitForStatus(product, bought, ['SELLER_FAILED_TO_OPEN_CHANNEL'])).toMatchObject({
    payment_status: 'SUCCESSFUL_PAYMENT',
  })
  assert.equal((await getPayment(product, hash)).state, 'FAILED')
  const { attempts, timeline, hold } = await readReport()
  assert.equal(hold.status, 'cancelled')
  assert.equal(attempts.length, 1)
  const findOrderFacts = (type: string) => timeline.filter(({ stream, fact }) => stream === 'order' && fact === type)
  assert.equal(findOrderFacts('OutpointRefused').length, 1)
  expect(findOrderFacts('ReleaseRequested')).toMatchObject([
    { data: { reason: 'The payment expires too soon for another opening', blamed: false } },
  ])
  assert.deepEqual(findOrderFacts('AttemptFailed'), [])
  await waitUntil('the removal of the prepared channel', async () => (await listOutpoints()).length === before.length)
})

const inventOutpoint = (n: number): string => `${`${n}`.padStart(2, '0').repeat(32)}:0`

test('GIVEN a paid order WHEN its seller submits invented outpoints THEN the payment fails six blocks after the first', async () => {
  const seller = await createManualSeller(product)
  const order = await seller.placeOrder(await findBuyer(product), false)
  await seller.accept(await waitUntil('the sale at the seller', () => seller.findSale(order)))
  const invoice = await waitUntil('the invoice', async () => (await seller.readInvoice(order)) ?? undefined)
  const { payment_hash } = await paySimulatedInvoice(product, invoice)
  type ShownOrder = { readonly status: string; readonly attempts: readonly { readonly status: string }[] }
  const readShown = () => product.operator<ShownOrder>('GET', `/orders/${order.id}`)
  await waitUntil('the request to open', async () => (await readShown()).attempts[0]?.status === 'opening')
  const first = await mineBlocks(1)
  await seller.submitOutpoint(order, inventOutpoint(1))
  await mineBlocks(3)
  await seller.submitOutpoint(order, inventOutpoint(2))
  await mineBlocks(1)
  await expect(seller.submitOutpoint(order, inventOutpoint(3))).rejects.toThrow(/could not be seen in time/)
  expect((await getPayment(product, payment_hash)).state).toBe('IN_FLIGHT')
  const last = await mineBlocks(2)
  expect(last - first).toBe(WINDOW)
  await waitUntil('the failed payment', async () => (await getPayment(product, payment_hash)).state === 'FAILED')
  await waitUntil('the failed order', async () => (await readShown()).status === 'SELLER_FAILED_TO_SEND_SWAP')
})
