import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHeads } from '@penstock/platforms/audit-files.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { keepHeads } from '@penstock/runtime/audit-keep.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { type Bought, buy, follow, pay } from '../harness/buyer.ts'
import { PATIENT, startProduct } from '../harness/product.ts'
import { paidOut } from '../harness/report.ts'

/** So that the store has more events than wait for their place in its index. */
const UNPAID = 12

/** Leaves the data of a market that sold one channel and issued invoices that nobody paid. @returns the order that was sold */
export async function sale(dataDir: string): Promise<Bought> {
  const product = await startProduct(dataDir, PATIENT)
  const bought = await buy(product)
  for (let unpaid = 0; unpaid < UNPAID; unpaid++) await buy(product)
  // What follows is under another head, so that this one stands between two.
  await until('there is a head', () => linesOf(join(dataDir, 'audit.heads')) > 1, 30_000)
  await pay(product, bought.invoice)
  await follow(product, bought, ['VALID_CHANNEL_OPENING'])
  await until('the seller is paid', () => paidOut(product, bought), 30_000)
  assert.equal(await product.stop(), 0)
  await noteHeads(dataDir)
  return bought
}

const linesOf = (file: string): number => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0)

/** What a market that starts again does first: heads up to the last event. */
export async function noteHeads(dataDir: string): Promise<void> {
  const store = openStored(dataDir)
  const { platform } = await memoryWorld()
  await keepHeads({ ...platform, store, heads: await openHeads(dataDir), log: openLog('silent') }, AbortSignal.abort())
  await store.close()
}

/** @returns undefined where it throws, as a damaged file makes it */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
