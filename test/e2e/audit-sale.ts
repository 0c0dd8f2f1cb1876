import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLogHeads } from '@penstock/audit/head-files.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { runHeadWriter } from '@penstock/audit/head-writer.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { inject } from 'vitest'
import { type PurchasedOrder, buyChannel, waitForStatus, paySimulatedInvoice } from '../support/market-client.ts'
import { LONG_TIMEOUT_SETTINGS, startProduct } from '../support/product.ts'
import { isPaidOut } from '../support/order-report.ts'

/** Number of unpaid orders. With this number, the store has indexed some of its events. */
const UNPAID_ORDERS = 12

/** The limit of each wait. On an idle machine, the slowest wait ends after a few seconds. */
const LIMIT_MS = 120_000

type AuditedSale = { readonly dataDir: string; readonly purchase: PurchasedOrder }

/**
 * Copies the data of a market that sold one channel and issued some unpaid invoices. The first test file creates the market, and
 * later files use the same one. Files of this part run one after the other. @returns the sold order
 */
export async function copyAuditedSale(dataDir: string): Promise<PurchasedOrder> {
  const folder = inject('auditedSaleFolder')
  const file = join(folder, 'sale.json')
  if (!existsSync(file)) {
    // After a failure, the next file starts with an empty folder.
    const newDataDir = mkdtempSync(join(folder, 'market-'))
    const created: AuditedSale = { dataDir: newDataDir, purchase: await createAuditedSale(newDataDir) }
    writeFileSync(file, JSON.stringify(created))
  }
  const sale = JSON.parse(readFileSync(file, 'utf8')) as AuditedSale // this function wrote it
  cpSync(sale.dataDir, dataDir, { recursive: true })
  return sale.purchase
}

async function createAuditedSale(dataDir: string): Promise<PurchasedOrder> {
  const product = await startProduct(dataDir, LONG_TIMEOUT_SETTINGS)
  const purchase = await buyChannel(product)
  for (let index = 0; index < UNPAID_ORDERS; index++) await buyChannel(product)
  // After the second log head, a later head covers the facts of the payment.
  await waitUntil('the second log head', () => countLines(join(dataDir, 'audit.heads')) > 1, LIMIT_MS)
  await paySimulatedInvoice(product, purchase.invoice)
  await waitForStatus(product, purchase, ['VALID_CHANNEL_OPENING'], LIMIT_MS)
  await waitUntil('the seller is paid', () => isPaidOut(product, purchase), LIMIT_MS)
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
