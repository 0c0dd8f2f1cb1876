import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { Product } from '../harness/product.ts'
import { type Balances, balanceFaults, balancesOf, wealthOf } from './balances.ts'
import { type Book, booksOf } from './books.ts'
import { guardFaults, type Span } from './awake.ts'
import type { Fold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { orderFaults } from './orders.ts'
import { foldedFaults, unreadFaults } from './read-models.ts'
import { atRest } from './rest.ts'
import { truthOf } from './truth.ts'
import { unnamed, type Wait } from './waiting.ts'

export type Look = {
  readonly books: readonly Book[]
  readonly waits: readonly Wait[]
  /** What every node had in the end. */
  readonly balances: Balances
  readonly faults: readonly string[]
}

/**
 * Lets everything come to rest, stops the market, and looks at all that it left behind.
 * @param beforeMsat what the market's node had before the first order
 * @param awake the blocks in which the market was up and its node answered; none where nobody has written them down
 */
export async function lookAtAll(
  product: Product,
  fold: Fold,
  beforeMsat: bigint,
  awake: (height: number) => readonly Span[] = () => [],
): Promise<Look> {
  const { dataDir } = product
  const waits = await atRest({
    fold,
    truthNow: async () => truthOf(dataDir),
    mine: async (most) => most > 0 && product.operator('POST', '/sim/mine', { blocks: Math.min(most, 6) }),
    mineAfterMs: PATIENCE_MS,
    withinMs: REST_WITHIN_MS,
  })
  const unread = await unreadSoon(dataDir, fold)
  const balances = await balancesOf(product)
  const gainedMsat = (balances.get('market') ?? 0n) - beforeMsat
  const parked = await product.operator<readonly object[]>('GET', '/parked')
  const exit = await product.stop()
  await fold.catchUp()
  const books = booksOf(fold.events)
  const truth = truthOf(dataDir)
  const audited = await verifyStore(dataDir)
  const faults = [
    ...(exit === 0 ? [] : [`the market ended with ${exit} when it was asked to stop`]),
    ...unnamed(waits),
    ...orderFaults(books, waits),
    ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
    ...(audited.divergences === 0 && audited.ledger_balanced ? [] : [`the audit found ${JSON.stringify(audited)}`]),
    ...moneyFaults(books, truth, gainedMsat),
    ...balanceFaults(books, truth.payments, wealthOf(dataDir), balances),
    ...guardFaults(books, truth, awake(truth.height)),
    ...unread,
    ...(await foldedFaults(dataDir, fold.events)),
  ]
  return { books, waits, balances, faults }
}

const REST_WITHIN_MS = 60_000
const PATIENCE_MS = 6000
const READ_WITHIN_MS = 10_000
const READ_EVERY_MS = 100

/** What read models have not read after a while of all that there was when everything had come to rest. */
async function unreadSoon(dataDir: string, fold: Fold): Promise<readonly string[]> {
  await fold.catchUp()
  const events = [...fold.events]
  for (const end = performance.now() + READ_WITHIN_MS; ; await sleep(READ_EVERY_MS)) {
    const faults = await unreadFaults(dataDir, events)
    if (faults.length === 0 || performance.now() > end) return faults
  }
}

/** What the market's node has, on the chain and in its channels. */
export const marketMsat = async (product: Pick<Product, 'operator'>): Promise<bigint> =>
  (await balancesOf(product)).get('market') ?? 0n
