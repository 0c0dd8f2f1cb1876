import assert from 'node:assert/strict'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  buyChannel,
  findBuyer,
  getPayment,
  listSimNodes,
  paySimulatedInvoice,
  sendGraphql,
  setBehaviour,
  type SimulatedNode,
  waitForStatus,
} from '../support/market-client.ts'
import { BUY_MUTATION } from '../support/market-operations.ts'
import { getOrderReport } from '../support/order-report.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'

/** In this file, time runs out for sellers: an opening window ends, or an attestation of funds gets too old. */

let product: Product
let sellers: readonly SimulatedNode[]
beforeAll(async () => {
  product = await startProduct(makeTempFolder())
  sellers = (await listSimNodes(product)).filter(({ role }) => role === 'seller')
})
beforeEach(() => setAllBehaviours('ok'))
afterAll(async () => {
  assert.equal(await product.stop(), 0)
})

const setAllBehaviours = async (how: string): Promise<void> => {
  for (const { alias } of sellers) await setBehaviour(product, alias, how)
}

test('another seller replaces a seller that does not open, for the same payment', async () => {
  const purchase = await buyChannel(product)
  const shown = await getOrderReport(product, purchase)
  const chosen = sellers.find(({ pubkey }) => pubkey === shown.seller_pubkey)
  assert.ok(chosen)
  await setBehaviour(product, chosen.alias, 'never-open')
  const { payment_hash: hash } = await paySimulatedInvoice(product, purchase.invoice)
  await waitForStatus(product, purchase, ['VALID_CHANNEL_OPENING'], 180_000)
  const { attempts, seller_pubkey: opener } = await getOrderReport(product, purchase)
  expect(attempts[0]).toMatchObject({ seller_pubkey: chosen.pubkey, status: 'replaced' })
  assert.notEqual(opener, chosen.pubkey)
  await waitUntil('the settled payment', async () => (await getPayment(product, hash)).state === 'SUCCEEDED', 60_000)
})

test('if no seller opens a channel, the hold is cancelled and then the order ends as SELLER_FAILED_TO_OPEN_CHANNEL', async () => {
  const purchase = await buyChannel(product)
  await setAllBehaviours('never-open')
  const { payment_hash: hash } = await paySimulatedInvoice(product, purchase.invoice)
  await waitForStatus(product, purchase, ['SELLER_FAILED_TO_OPEN_CHANNEL'], 240_000)
  assert.equal((await getPayment(product, hash)).state, 'FAILED')
  const { hold, statuses, payout } = await getOrderReport(product, purchase)
  assert.equal(hold.status, 'cancelled')
  assert.ok(hold.cancelled_at !== null && hold.cancelled_at <= (statuses.at(-1)?.at ?? ''))
  assert.equal(payout.state, null)
})

test('the market sells nothing while all sellers are silent, and sells again when they answer', async () => {
  await setAllBehaviours('silent')
  const { uri } = await findBuyer(product)
  const tryToBuy = () => sendGraphql(product.url, BUY_MUTATION, { input: { connection_uri: uri, usd_cents: '500' } })
  const { errors } = await waitUntil(
    'a refused purchase',
    async () => ((await tryToBuy()).errors ? tryToBuy() : null),
    240_000,
    500,
  )
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })
  await setAllBehaviours('ok')
  await buyChannel(product)
})
