import assert from 'node:assert/strict'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  setBehaviour,
  type PurchasedOrder,
  buyChannel,
  findBuyer,
  requestData,
  waitForStatus,
  readOrder,
  paySimulatedInvoice,
  getPayment,
  type SimulatedNode,
  listSimNodes,
} from '../support/market-client.ts'
import { createMiner, type Miner, MINED_BY_HAND_SETTINGS, WAITS_FOR_LOST_FUNDING } from '../support/mine-when-idle.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { CREATE_ORDER_MUTATION } from '../support/market-operations.ts'
import { isPaidOut, getOrderReport } from '../support/order-report.ts'
import { createAccount, createManualSeller } from './manual-seller.ts'

const dataDir = makeTempFolder()
let product: Product
let miner: Miner
let sellers: readonly SimulatedNode[]

beforeAll(async () => {
  product = await startProduct(dataDir, MINED_BY_HAND_SETTINGS)
  miner = createMiner(() => product)
  sellers = (await listSimNodes(product)).filter(({ role }) => role === 'seller')
})
beforeEach(() => setAllBehaviours('ok'))
afterAll(async () => {
  await miner.close()
  assert.equal(await product.stop(), 0)
})

const setAllBehaviours = async (how: string): Promise<void> => {
  for (const { alias } of sellers) await setBehaviour(product, alias, how)
}
const listChannels = async (): Promise<readonly { outpoint: string; capacity_sat: string; peer: string; private: boolean }[]> =>
  product.operator('GET', `/sim/channels/${(await findBuyer(product)).alias}`)
const waitForSettlement = (hash: string) =>
  waitUntil('the settled payment', async () => (await getPayment(product, hash)).state === 'SUCCEEDED')
const mineUntilValid = (orders: readonly Pick<PurchasedOrder, 'id' | 'key'>[]) =>
  miner.mineUntil('valid channels', orders, async () => {
    const snapshots = await Promise.all(orders.map((order) => readOrder(product, order)))
    return snapshots.every(({ status }) => status === 'VALID_CHANNEL_OPENING')
  })
const OFFERS_QUERY = `query ($filter: OfferFilterInput) { market { offer { offers(filter: $filter) {
  list { id min_size auto_accept } } } } }`
type Offer = { readonly id: string; readonly min_size: string; readonly auto_accept: boolean }
type Offers = { readonly market: { readonly offer: { readonly offers: { readonly list: readonly Offer[] } } } }
type CreatedOrder = {
  readonly market: { readonly order: { readonly create: { id: string; payment: { lightning: { invoice: string | null } } } } }
}
const mineUntilPaidOut = (purchase: Pick<PurchasedOrder, 'id' | 'key'>) =>
  miner.mineUntil('the payout', [purchase], () => isPaidOut(product, purchase))

test('a sale passes all steps: the payment, the opening, the proof, the settlement and the payout', async () => {
  const purchase = await buyChannel(product)
  expect(await readOrder(product, purchase)).toMatchObject({
    status: 'WAITING_FOR_BUYER_PAYMENT',
    payment_status: 'PENDING_PAYMENT',
  })
  const { payment_hash: hash } = await paySimulatedInvoice(product, purchase.invoice)
  expect(await miner.mineUntilStatus(purchase, ['VALID_CHANNEL_OPENING'])).toMatchObject({
    payment_status: 'SUCCESSFUL_PAYMENT',
  })
  await waitForSettlement(hash)
  const shown = await getOrderReport(product, purchase)
  expect(shown.statuses.map(({ status }) => status)).toEqual([
    'WAITING_FOR_SELLER_APPROVAL',
    'WAITING_FOR_BUYER_PAYMENT',
    'WAITING_FOR_CHANNEL_OPEN',
    'SELLER_SENT_TRANSACTION',
    'WAITING_FOR_ON_CHAIN_CONFIRMATION',
    'ON_CHAIN_CONFIRMATION',
    'SELLER_OPENED_CHANNEL',
    'VALID_CHANNEL_OPENING',
  ])
  const opened = (await listChannels()).find(({ outpoint }) => outpoint === shown.outpoint)
  expect(opened).toMatchObject({ capacity_sat: shown.size_sat, peer: shown.seller_pubkey, private: false })
  await mineUntilPaidOut(purchase)
  const after = await getOrderReport(product, purchase)
  expect(after.payout).toMatchObject({ attempts: 1, payee: shown.seller_pubkey })
  for (const { entries } of after.ledger) expect(entries.reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)).toBe(0n)
})

test.each([{ private: true }, { rails_cluster_only: true }])('a buyer can buy a channel with the options %o', async (options) => {
  const purchase = await buyChannel(product, { options })
  await paySimulatedInvoice(product, purchase.invoice)
  await miner.mineUntilStatus(purchase, ['VALID_CHANNEL_OPENING'])
  const { outpoint } = await getOrderReport(product, purchase)
  expect((await listChannels()).find((channel) => channel.outpoint === outpoint)?.private).toBe('private' in options)
})

test('an order on a chosen offer that accepts automatically is answered with its invoice, and becomes valid', async () => {
  const key = await createAccount(product, 'chooses-an-offer')
  // The quote service has chosen this seller, so it knows that the seller is live.
  const { seller_pubkey: pubkey } = await getOrderReport(product, await buyChannel(product))
  const { list } = (await requestData<Offers>(product, OFFERS_QUERY, { filter: { pubkey } })).market.offer.offers
  const offer = list.find(({ auto_accept }) => auto_accept) ?? assert.fail('the offer does not accept automatically')
  const input = { offer_id: offer.id, pubkey: (await findBuyer(product)).pubkey, size: Number(offer.min_size) }
  const { id, payment } = (await requestData<CreatedOrder>(product, CREATE_ORDER_MUTATION, { input }, key)).market.order.create
  await paySimulatedInvoice(product, payment.lightning.invoice ?? assert.fail('the answer has no invoice'))
  await mineUntilValid([{ id, key }])
  await mineUntilPaidOut({ id, key })
})

test('a private taproot channel, which only the rails cluster may sell, is proven and paid out like other channels', async () => {
  const [seller, buyer] = [await createManualSeller(product), await findBuyer(product)]
  const refusal = async () =>
    seller.placeOrder(buyer).then(
      () => 'no refusal',
      (error: unknown) => String(error),
    )
  await waitUntil('the offer in the order book', async () => /sold by the rails cluster only/.test(await refusal()))
  await product.operator('POST', '/sellers/grant', { pubkey: seller.node.pubkey, reason: 'A test.' })
  const purchase = await waitUntil('the grant in the order book', () => seller.placeOrder(buyer).catch(() => undefined))
  const payout = await seller.accept(await waitUntil('the request to accept', () => seller.findSale(purchase)))
  const { payment_hash: hash } = await paySimulatedInvoice(
    product,
    await waitUntil('the invoice of the buyer', () => seller.readInvoice(purchase)),
  )
  await waitForStatus(product, purchase, ['WAITING_FOR_CHANNEL_OPEN'])
  const outpoint = await seller.openTaproot(await waitUntil('the request to open', () => seller.findSale(purchase)), buyer)
  expect(await miner.mineUntilStatus(purchase, ['VALID_CHANNEL_OPENING'])).toMatchObject({
    payment_status: 'SUCCESSFUL_PAYMENT',
  })
  await waitForSettlement(hash)
  expect((await listChannels()).find((channel) => channel.outpoint === outpoint)).toMatchObject({
    capacity_sat: '1000000',
    peer: seller.node.pubkey,
    private: true,
  })
  // The seller is in the rails cluster and a probe proves the channel, so the payout is not withheld.
  await mineUntilPaidOut(purchase)
  expect(await product.operator('GET', `/sim/invoices/${seller.node.alias}/${payout}`)).toMatchObject({ state: 'SETTLED' })
})

test.each([
  ['wrong-size', 'INVALID_CHANNEL_OPENING', undefined],
  ['wrong-peer', 'INVALID_CHANNEL_OPENING', undefined],
  ['vanish', 'SELLER_FAILED_TO_SEND_SWAP', WAITS_FOR_LOST_FUNDING],
])(
  'if every seller has the behaviour %s, the hold is cancelled and then the order ends as %s',
  async (how, status, idleStatuses) => {
    const purchase = await buyChannel(product)
    await setAllBehaviours(how)
    const { payment_hash: hash } = await paySimulatedInvoice(product, purchase.invoice)
    await miner.mineUntilStatus(purchase, [status], idleStatuses)
    assert.equal((await getPayment(product, hash)).state, 'FAILED')
    const { hold, statuses, payout } = await getOrderReport(product, purchase)
    assert.equal(hold.status, 'cancelled')
    assert.ok(
      hold.cancelled_at !== null && hold.cancelled_at <= (statuses.at(-1)?.at ?? ''),
      'cancelled before the status became terminal',
    )
    assert.equal(payout.state, null)
  },
)

test('a channel becomes valid despite a re-organisation while it confirms', async () => {
  const purchase = await buyChannel(product)
  await paySimulatedInvoice(product, purchase.invoice)
  await miner.mineUntilStatus(purchase, ['ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL'])
  await product.operator('POST', '/sim/reorg', { depth: 2 })
  await miner.mineUntilStatus(purchase, ['VALID_CHANNEL_OPENING'])
})

test('a market that is killed while it holds payments completes their orders after the restart', async () => {
  await setAllBehaviours('slow')
  const heldOrders: { bought: PurchasedOrder; hash: string }[] = []
  for (let n = 0; n < 3; n++) {
    const purchase = await buyChannel(product)
    heldOrders.push({ bought: purchase, hash: (await paySimulatedInvoice(product, purchase.invoice)).payment_hash })
  }
  await product.kill()
  product = await startProduct(dataDir, MINED_BY_HAND_SETTINGS)
  await setAllBehaviours('ok')
  await mineUntilValid(heldOrders.map(({ bought }) => bought))
  await Promise.all(heldOrders.map(({ hash }) => waitForSettlement(hash)))
})

test('twenty concurrent orders all become valid, and all payments settle', async () => {
  const orders = await Promise.all(Array.from({ length: 20 }, () => buyChannel(product)))
  const hashes = await Promise.all(orders.map(async ({ invoice }) => (await paySimulatedInvoice(product, invoice)).payment_hash))
  await mineUntilValid(orders)
  await Promise.all(hashes.map(waitForSettlement))
})

test('at the end every stream folds to its recorded state, the ledger balances, and no message is parked', async () => {
  expect(await product.operator('POST', '/audit/verify', {})).toMatchObject({
    divergences: 0,
    ledger_balanced: true,
    first: null,
  })
  expect(await product.operator('GET', '/parked')).toEqual([])
})
