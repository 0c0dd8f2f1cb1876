import assert from 'node:assert/strict'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBuyer, paySimulatedInvoice, readOrder, waitForStatus } from '../support/market-client.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'
import { ATTEST_MUTATION } from '../support/market-operations.ts'
import { createManualSeller } from './manual-seller.ts'

const SIZE_SAT = 1_000_000n
/** The market allows clocks to differ by a minute. The seller's is ahead by almost that, so its attestation counts after this time. */
const WAIT_MS = 1000
const sellerNow = () => Date.now() + MINUTE_MS - WAIT_MS

let product: Product
beforeAll(async () => {
  // No block is mined, so no funding confirms, and the seller stays live without an agent.
  product = await startProduct(makeTempFolder(), {
    PENSTOCK_SIM_BLOCK_SECONDS: '0',
    PENSTOCK_OPEN_WINDOW_SECONDS: '600',
    PENSTOCK_LIVE_SECONDS: '3600',
  })
})
afterAll(async () => {
  assert.equal(await product.stop(), 0)
})

test('GIVEN a seller with coins for two channels WHEN the first funding is unconfirmed THEN it sells the second, and no third', async () => {
  const [seller, buyer] = [await createManualSeller(product, { autoAccept: true }), await findBuyer(product)]
  const { alias, pubkey } = seller.node
  const attest = async (confirmedSats: bigint, at: number) => {
    const text = formatFundsAttestation({ pubkey, confirmedSats, at })
    const { signature } = await product.operator<{ signature: string }>('POST', '/sim/sign', { alias, text })
    await seller.send(ATTEST_MUTATION, { pubkey, confirmed_sats: `${confirmedSats}`, at: `${at}`, signature })
  }
  /** @returns an order that the seller's standing acceptance covers; null if the seller has to accept it */
  const order = async () => {
    const placed = await seller.placeOrder(buyer, false)
    const { status } = await readOrder(product, placed)
    return status === 'WAITING_FOR_SELLER_APPROVAL' ? null : placed
  }
  const payFor = async (placed: NonNullable<Awaited<ReturnType<typeof order>>>) => {
    await paySimulatedInvoice(product, await waitUntil('the invoice', () => seller.readInvoice(placed)))
    await waitForStatus(product, placed, ['WAITING_FOR_CHANNEL_OPEN'])
    return placed
  }

  await attest(2n * SIZE_SAT, Date.now())
  const first = await payFor(await waitUntil('an accepted order', () => order().catch(() => null)))
  const sale = await waitUntil('the request to open', () => seller.findSale(first))
  await seller.accept(sale)
  const opening = { alias, pubkey: buyer.pubkey, sats: sale.size, private: false, taproot: false }
  const { outpoint } = await product.operator<{ outpoint: string }>('POST', '/sim/open', opening)
  await seller.submitOutpoint(first, outpoint)
  await waitForStatus(product, first, ['WAITING_FOR_ON_CHAIN_CONFIRMATION'])
  // These funds may have been attested before the broadcast, so they may contain the coins of the first channel.
  await attest(SIZE_SAT, Date.now())
  await waitUntil('an order that the coins do not cover', async () => (await order()) === null)

  const second = await waitUntil('an accepted order after a younger attestation', async () => {
    await attest(SIZE_SAT, sellerNow())
    return order()
  })
  await payFor(second)
  await waitUntil('an order that the coins do not cover', async () => (await order()) === null)
  expect((await readOrder(product, first)).status).toBe('WAITING_FOR_ON_CHAIN_CONFIRMATION')
})
