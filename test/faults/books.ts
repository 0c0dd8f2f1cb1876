import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import type { OrderFact, OrderTerms } from '@penstock/contracts/order.ts'
import type { MatchFact } from '@penstock/contracts/matching.ts'
import type { QuoteFact } from '@penstock/contracts/quote.ts'
import type { LedgerEntry, NotedOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Candidate, FundingFeesData } from '@penstock/contracts/shapes.ts'
import { statusAfter } from '@penstock/gateway/views/order-status.ts'
import type { Event } from '@penstock/runtime/service.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

/** An order as the facts of its quote, its search and its two main streams tell it, without any of the code that decides. */
export type Book = {
  readonly id: string
  status: OrderStatus | undefined
  source: OrderTerms['source'] | undefined
  destination: string
  sizeSat: bigint
  isPrivate: boolean
  hashes: string[]
  /** What the buyer was asked for: by the order's terms, and in the invoice. */
  priceMsat: bigint
  invoicedMsat: bigint
  /** The seller that the buyer was shown, and what a funding cost then. */
  shown: Candidate | undefined
  shownFees: FundingFeesData
  /** What a funding cost when each attempt's seller was searched for. */
  searchFees: Map<number, FundingFeesData>
  /** Who had which attempt. */
  sellers: Map<number, Candidate>
  isHeld: boolean
  /** The height at which the payment that is held ends by itself. */
  heldUntil: number | undefined
  /** When its payment was first to be given back, and to be taken: milliseconds since 1970. */
  askedBackAt: number | undefined
  askedForAt: number | undefined
  incidents: DataOf<'IncidentNoted'>[]
  noted: NotedOutpoint | undefined
  proven: DataOf<'SettleRequested'>['proof'][]
  settled: DataOf<'HoldSettled'>[]
  cancelled: DataOf<'HoldCancelled'>[]
  /** What the operator bears of it, until it is dropped. */
  lost: DataOf<'LossBorne'>[]
  /** The seller's share is owed to the buyer since. */
  closed: DataOf<'PayableClosed'>[]
  offered: Map<string, DataOf<'PayoutInvoiceOffered'>>
  paid: DataOf<'PayoutSucceeded'>[]
  entries: LedgerEntry[]
}

const begun = (id: string): Book => ({
  id,
  status: undefined,
  source: undefined,
  destination: '',
  sizeSat: 0n,
  isPrivate: false,
  hashes: [],
  priceMsat: 0n,
  invoicedMsat: 0n,
  shown: undefined,
  shownFees: null,
  searchFees: new Map(),
  sellers: new Map(),
  isHeld: false,
  heldUntil: undefined,
  askedBackAt: undefined,
  askedForAt: undefined,
  incidents: [],
  noted: undefined,
  proven: [],
  settled: [],
  cancelled: [],
  lost: [],
  closed: [],
  offered: new Map(),
  paid: [],
  entries: [],
})

export function booksOf(events: readonly Event[]): readonly Book[] {
  const books = new Map<string, Book>()
  for (const { category, aggregateId, fact, at } of events) {
    if (category !== 'order' && category !== 'settlement' && category !== 'quote' && category !== 'match') continue
    const book = books.get(aggregateId) ?? begun(aggregateId)
    books.set(aggregateId, book)
    // The category says whose fact it is.
    if (category === 'order') noteOrder(book, fact as OrderFact)
    else if (category === 'quote') noteQuote(book, fact as QuoteFact)
    else if (category === 'match') noteSearch(book, fact as MatchFact)
    else noteMoney(book, fact as SettlementFact, at)
  }
  return [...books.values()]
}

function noteOrder(book: Book, fact: OrderFact): void {
  book.status = statusAfter(book.status, fact.type)
  if (fact.type === 'AttemptStarted') book.sellers.set(fact.data.attempt, fact.data.candidate)
  if (fact.type !== 'OrderPlaced') return
  book.source = fact.data.source
  book.priceMsat = 1000n * BigInt(fact.data.priceSat)
  book.shown = fact.data.candidate
  book.destination = fact.data.destination.pubkey
  book.sizeSat = BigInt(fact.data.sizeSat)
  book.isPrivate = fact.data.isPrivate
}

function noteQuote(book: Book, fact: QuoteFact): void {
  if (fact.type === 'Quoted') book.shownFees = fact.data.fundingFees
}

function noteSearch(book: Book, fact: MatchFact): void {
  if (fact.type === 'SearchBegun') book.searchFees.set(fact.data.attempt, fact.data.fundingFees)
}

function noteMoney(book: Book, { type, data }: SettlementFact, at: number): void {
  switch (type) {
    case 'HoldRequested':
      book.hashes.push(data.paymentHash)
      book.invoicedMsat = BigInt(data.amountMsat)
      return
    case 'HoldHeld':
      book.isHeld = true
      book.heldUntil = data.expiryHeight
      return
    case 'OutpointNoted':
      book.noted = data
      return
    case 'SettleRequested':
      book.askedForAt ??= at
      return void book.proven.push(data.proof)
    case 'CancelRequested':
    case 'SettleMissed':
      book.askedBackAt ??= at
      return
    case 'IncidentNoted':
      return void book.incidents.push(data)
    case 'HoldSettled':
      return void book.settled.push(data)
    case 'HoldCancelled':
      return void book.cancelled.push(data)
    case 'LossBorne':
      return void book.lost.push(data)
    case 'LossRefuted':
      book.lost = []
      return
    case 'PayableClosed':
      return void book.closed.push(data)
    case 'PayoutInvoiceOffered':
      return void book.offered.set(data.paymentHash, data)
    // Of another order, whose payout it is.
    case 'PayoutInvoiceRefused':
      return void book.offered.delete(data.paymentHash)
    case 'PayoutSucceeded':
      return void book.paid.push(data)
    case 'LedgerPosted':
      return void book.entries.push(...data.entries)
    default:
  }
}

/** @returns msat on an account over all orders */
export const accountMsat = (books: readonly Book[], account: LedgerEntry['account']): bigint =>
  books
    .flatMap(({ entries }) => entries)
    .reduce((sum, entry) => (entry.account === account ? sum + BigInt(entry.amountMsat) : sum), 0n)

/**
 * The decisions let a seller of the rails cluster have the money at the last height for what its node signed and the chain
 * shows, since a buyer could else go offline to have a channel for nothing. Only there nobody has proven the peer.
 */
export const isOnTheChainAlone = ({ settled, proven, noted }: Book): boolean =>
  settled.length > 0 && proven.at(-1)?.peer === null && proven.at(-1)?.withheld === true && noted?.terms.rails === true
