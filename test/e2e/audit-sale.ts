import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLogHeads } from '@penstock/audit/head-files.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { runHeadWriter } from '@penstock/audit/head-writer.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type PurchasedOrder, buyChannel, waitForStatus, paySimulatedInvoice } from '../support/market-client.ts'
import { LONG_TIMEOUT_SETTINGS, startProduct } from '../support/product.ts'
import { isPaidOut } from '../support/order-report.ts'

/** Number of unpaid orders. With this number, the store has indexed some of its events. */
const UNPAID_ORDERS = 12

/** Creates the data of a market that sold one channel and issued some unpaid invoices. @returns the sold order */
export async function createAuditedSale(dataDir: string): Promise<PurchasedOrder> {
  const product = await startProduct(dataDir, LONG_TIMEOUT_SETTINGS)
  const purchase = await buyChannel(product)
  for (let index = 0; index < UNPAID_ORDERS; index++) await buyChannel(product)
  // After the second log head, a later head covers the facts of the payment.
  await waitUntil('the second log head', () => countLines(join(dataDir, 'audit.heads')) > 1, 30_000)
  await paySimulatedInvoice(product, purchase.invoice)
  await waitForStatus(product, purchase, ['VALID_CHANNEL_OPENING'])
  await waitUntil('the seller is paid', () => isPaidOut(product, purchase), 30_000)
  assert.equal(await product.stop(), 0)
  await writeAllHeads(dataDir)
  return purchase
}

const countLines = (file: string): number => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0)

/** Writes log heads up to the last event, as a starting market does first. */
export async function writeAllHeads(dataDir: string): Promise<void> {
  const store = openLocalStore(dataDir)
  const { platform } = await createMemoryPlatform()
  await runHeadWriter({ ...platform, store, heads: await openLogHeads(dataDir), log: openLogger('silent') }, AbortSignal.abort())
  await store.close()
}

/** @returns undefined if the action throws, for example because a file is damaged */
export function tryOrUndefined<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
