import assert from 'node:assert/strict'
import type { LedgerEntry } from '@penstock/contracts/settlement.ts'
import { wealthOf } from './balances.ts'
import { type Book, booksOf } from './books.ts'
import type { RoundReport } from './campaign.ts'
import type { Fold } from './fold.ts'
import type { Seen as Looked } from './look.ts'
import type { Sales } from './purchases.ts'
import { blocksIn, type Channel, type Invoice, type Payment, type Truth, truthOf } from './truth.ts'
import { waitsOf } from './waiting.ts'

/** What a look has before it after rounds of a campaign; the round's buyers are those whose orders are kept. */
export type Seen = Looked & { readonly sales: Sales }

export type Change = (seen: Seen) => Seen
/** What is changed, how, and what has to be said of it. */
export type Named = readonly [string, Change, RegExp]

/** What lies in a data folder after rounds without a fault. */
export function seenIn(dataDir: string, fold: Fold, reports: readonly Pick<RoundReport, 'balances' | 'awake'>[]): Seen {
  const books = booksOf(fold.events)
  const bought = books.map(({ id }) => id)
  const last = reports.at(-1)
  return {
    exit: 0,
    // Each round has judged how late it was; since then the market stands still, and nothing of it is late.
    waits: waitsOf(fold.asking(), { at: 0, height: 0 }),
    books,
    parked: [],
    audited: { divergences: 0, ledger_balanced: true },
    truth: truthOf(dataDir),
    gainedMsat: gainOf(books),
    wealth: wealthOf(dataDir),
    balances: last?.balances ?? new Map(),
    awake: last?.awake ?? [],
    blocks: blocksIn(dataDir),
    unread: [],
    unlike: [],
    sales: { round: reports.length, planned: bought.length, bought, refusals: [] },
  }
}

export const gainOf = (books: readonly Book[]): bigint =>
  books
    .flatMap(({ entries }) => entries)
    .filter(({ account }) => account === 'received' || account === 'paid-out')
    .reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)

export const found = (books: readonly Book[], what: string, is: (book: Book) => boolean): Book => {
  const book = books.find(is)
  assert.ok(book, `no order ${what} in all rounds`)
  return book
}
/** By its first invoice, and with a channel that was proven to its peer. */
const isSold = ({ settled, proven, hashes }: Book): boolean =>
  settled.length > 0 && proven.at(-1)?.peer !== null && hashes.length === 1
export const sold = (books: readonly Book[]): Book => found(books, 'was sold', isSold)
export const unpaid = (books: readonly Book[]): Book =>
  found(books, 'stayed unpaid', ({ status, isHeld }) => status === 'BUYER_FAILED_TO_PAY' && !isHeld)
export const payoutOf = ({ paid }: Book): string => paid[0]?.paymentHash ?? assert.fail()

export const withBook = (seen: Seen, book: Book, change: Partial<Book>): Seen => {
  const books = seen.books.map((one) => (one.id === book.id ? { ...one, ...change } : one))
  return { ...seen, books, gainedMsat: gainOf(books) }
}
/** One that was sold, changed. */
export const withSold =
  (change: (book: Book) => Partial<Book>): Change =>
  (seen) => {
    const book = sold(seen.books)
    return withBook(seen, book, change(book))
  }
/** One that was sold, with another millisatoshi on these accounts of its ledger. */
export const withEntries = (changes: Readonly<Partial<Record<LedgerEntry['account'], number>>>): Change =>
  withSold(({ entries }) => ({
    entries: [
      ...entries,
      // The type above names them.
      ...Object.entries(changes).map(([account, msat]) => ({ account, amountMsat: `${msat}` }) as LedgerEntry),
    ],
  }))
export const withTruth = (seen: Seen, change: Partial<Truth>): Seen => ({ ...seen, truth: { ...seen.truth, ...change } })
export const withChannel =
  (change: (book: Book) => Partial<Channel>): Change =>
  (seen) => {
    const book = sold(seen.books)
    const outpoint = book.proven.at(-1)?.outpoint ?? ''
    const channel = seen.truth.channels.get(outpoint)
    assert.ok(channel)
    const changed = { ...channel, ...change(book) }
    return withTruth(seen, { channels: new Map([...seen.truth.channels, [outpoint, changed]]) })
  }
export const withPayments = (seen: Seen, hashes: readonly string[], change: (payment: Payment) => Partial<Payment>): Seen => {
  const { payments } = seen.truth
  const changed = payments.map((one) => (hashes.includes(one.payment_hash) ? { ...one, ...change(one) } : one))
  return withTruth(seen, { payments: changed })
}
/** The seller's payment for one that was sold, as the network has it. */
export const withPayout =
  (change: (payment: Payment) => Partial<Payment>): Change =>
  (seen) =>
    withPayments(seen, [payoutOf(sold(seen.books))], change)
export const withInvoice = (seen: Seen, hash: string, change: Partial<Invoice>): Seen => {
  const { invoices } = seen.truth
  return withTruth(seen, { invoices: invoices.map((one) => (one.payment_hash === hash ? { ...one, ...change } : one)) })
}
