import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { Product } from '../harness/product.ts'
import { type Book, booksOf } from './books.ts'
import type { Fold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { orderFaults } from './orders.ts'
import { readModelFaults } from './read-models.ts'
import { heldAtMarket, type Truth, truthOf } from './truth.ts'
import { unnamed, type Wait, waitsOf } from './waiting.ts'

export type Look = { readonly books: readonly Book[]; readonly waits: readonly Wait[]; readonly faults: readonly string[] }

/**
 * Lets everything come to rest, stops the market, and looks at all that it left behind.
 * @param beforeMsat what the market's node had before the first order
 */
export async function lookAtAll(product: Product, fold: Fold, beforeMsat: bigint): Promise<Look> {
  const { dataDir } = product
  const waits = await atRest(fold, product)
  const gainedMsat = (await marketMsat(product)) - beforeMsat
  const parked = await product.operator<readonly object[]>('GET', '/parked')
  const exit = await product.stop()
  await fold.catchUp()
  const books = booksOf(fold.events)
  const audited = await verifyStore(dataDir)
  const faults = [
    ...(exit === 0 ? [] : [`the market ended with ${exit} when it was asked to stop`]),
    ...unnamed(waits),
    ...orderFaults(books, waits),
    ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
    ...(audited.divergences === 0 && audited.ledger_balanced ? [] : [`the audit found ${JSON.stringify(audited)}`]),
    ...moneyFaults(books, truthOf(dataDir), gainedMsat),
    ...(await readModelFaults(dataDir, fold.events)),
  ]
  return { books, waits, faults }
}

const REST_WITHIN_MS = 60_000
const PATIENCE_MS = 6000

/**
 * Waits until whatever is still asked for waits for somebody who can be named; what is left then is the answer. A hold
 * that nothing proves ends at its last height, a hundred blocks on: after a while they come faster.
 */
async function atRest(fold: Fold, product: Product): Promise<readonly Wait[]> {
  const begun = performance.now()
  for (;;) {
    const { waits, isRest } = await restOf(fold, async () => truthOf(product.dataDir))
    const waited = performance.now() - begun
    if (waited > REST_WITHIN_MS || isRest) return waits
    if (waited > PATIENCE_MS) await product.operator('POST', '/sim/mine', { blocks: 6 })
    await sleep(250)
  }
}

export type Rest = { readonly waits: readonly Wait[]; readonly isRest: boolean }

/**
 * Whether whatever is still to come waits for somebody who can be named, no order is lost on its way between two services,
 * and the market's node holds nothing. The network is asked first: the facts that follow from its height come after it.
 */
export async function restOf(fold: Fold, truthNow: () => Promise<Pick<Truth, 'height' | 'held' | 'market'>>): Promise<Rest> {
  const truth = await truthNow()
  await fold.catchUp()
  const waits = waitsOf(fold.asking(), { at: Date.now(), height: truth.height })
  const isRest =
    unnamed(waits).length === 0 && orderFaults(booksOf(fold.events), waits).length === 0 && heldAtMarket(truth).length === 0
  return { waits, isRest }
}

/** What the market's node has, on the chain and in its channels. */
export async function marketMsat(product: Pick<Product, 'operator'>): Promise<bigint> {
  const { nodes } = await product.operator<{ nodes: readonly { alias: string; on_chain_msat: string; channel_msat: string }[] }>(
    'GET',
    '/sim/balances',
  )
  const market = nodes.find(({ alias }) => alias === 'market')
  return BigInt(market?.on_chain_msat ?? 0) + BigInt(market?.channel_msat ?? 0)
}
