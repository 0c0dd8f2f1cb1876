import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { Product } from '../harness/product.ts'
import { type Balances, balanceFaults, balancesOf, type Wealth } from './balances.ts'
import { type Book, booksOf } from './books.ts'
import { guardFaults, incidentFaults, type Span } from './awake.ts'
import type { Fold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { networkOf } from './network.ts'
import { orderFaults } from './orders.ts'
import { type Sales, salesFaults } from './purchases.ts'
import { foldedFaults, unreadFaults } from './read-models.ts'
import { atRest } from './rest.ts'
import { type Block, blocksIn, type Truth, truthOf } from './truth.ts'
import { unnamed, type Wait } from './waiting.ts'

export type Look = {
  readonly books: readonly Book[]
  readonly waits: readonly Wait[]
  /** What every node had in the end. */
  readonly balances: Balances
  readonly faults: readonly string[]
}

/** What a look has before it when everything has come to rest and the market has stopped. */
export type Seen = {
  readonly exit: number | null
  readonly waits: readonly Wait[]
  readonly books: readonly Book[]
  readonly parked: readonly object[]
  readonly audited: Pick<AuditReport, 'divergences' | 'ledger_balanced'>
  readonly truth: Truth
  readonly gainedMsat: bigint
  readonly wealth: readonly Wealth[]
  readonly balances: Balances
  readonly awake: readonly Span[]
  readonly blocks: readonly Block[]
  /** How read models are behind the facts, and other than these make them. */
  readonly unread: readonly string[]
  readonly unlike: readonly string[]
  /** Where buyers are known by more than their orders. */
  readonly sales?: Sales | undefined
}

/** All that has to hold then: each check has a history in `changed-*.ts` that breaks it. @returns a sentence for each that does not */
export const faultsIn = (seen: Seen): readonly string[] => {
  const { exit, books, truth, awake, blocks, sales } = seen
  return [
    ...(sales ? salesFaults(sales, books) : []),
    ...(exit === 0 ? [] : [`the market ended with ${exit} when it was asked to stop`]),
    ...recordFaults(seen),
    ...walletFaults(seen),
    ...guardFaults(books, truth, awake, blocks),
    ...incidentFaults(books, awake, blocks),
    ...seen.unread,
    ...seen.unlike,
  ]
}

/** What the facts say of themselves, whatever the market ran on. */
export const recordFaults = ({
  waits,
  books,
  parked,
  audited,
}: Pick<Seen, 'waits' | 'books' | 'parked' | 'audited'>): readonly string[] => [
  ...unnamed(waits),
  ...orderFaults(books, waits),
  ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
  ...(audited.divergences === 0 && audited.ledger_balanced ? [] : [`the audit found ${JSON.stringify(audited)}`]),
]

/** The facts beside what the network has. */
export const walletFaults = ({
  books,
  truth,
  gainedMsat,
  wealth,
  balances,
}: Pick<Seen, 'books' | 'truth' | 'gainedMsat' | 'wealth' | 'balances'>): readonly string[] => [
  ...moneyFaults(books, truth, gainedMsat),
  ...balanceFaults(books, truth.payments, wealth, balances),
]

type Known = {
  /** The blocks up to a height in which the market was up and its node answered; none where nobody has written them down. */
  readonly awake?: (height: number) => readonly Span[]
  readonly sales?: Sales
}

/**
 * Lets everything come to rest, stops the market, and looks at all that it left behind.
 * @param beforeMsat what the market's node had before the first order
 */
export async function lookAtAll(
  product: Product,
  fold: Fold,
  beforeMsat: bigint,
  { awake = () => [], sales }: Known = {},
): Promise<Look> {
  const { dataDir } = product
  const waits = await atRest({
    fold,
    truthNow: async () => truthOf(dataDir),
    mine: async (most) => most > 0 && product.operator('POST', '/sim/mine', { blocks: Math.min(most, 6) }),
    decide: (order, decision) => product.operator('POST', `/payouts/${order}/decide`, decision),
    mineAfterMs: PATIENCE_MS,
    withinMs: REST_WITHIN_MS,
  })
  const unread = await unreadSoon(dataDir, fold)
  const { wealth, balances } = await networkOf(product)
  const gainedMsat = (balances.get('market') ?? 0n) - beforeMsat
  const parked = await product.operator<readonly object[]>('GET', '/parked')
  const exit = await product.stop()
  await fold.catchUp()
  const books = booksOf(fold.events)
  const truth = truthOf(dataDir)
  const faults = faultsIn({
    exit,
    waits,
    books,
    parked,
    audited: await verifyStore(dataDir),
    truth,
    gainedMsat,
    wealth,
    balances,
    awake: awake(truth.height),
    blocks: blocksIn(dataDir),
    unread,
    unlike: await foldedFaults(dataDir, fold.events),
    sales,
  })
  return { books, waits, balances, faults }
}

const REST_WITHIN_MS = 120_000
const PATIENCE_MS = 6000
const READ_WITHIN_MS = 60_000
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
