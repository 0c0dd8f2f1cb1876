import { isFailure, isSale } from '@penstock/kernel/order-status.ts'
import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { backoff } from '@penstock/runtime/backoff.ts'
import type { ListedSale } from './market.ts'
import type { Pace } from './terms.ts'

/** What is to be sold, as the market listed it. */
type SaleTerms = Omit<ListedSale, 'orderId' | 'status'>

/** What happened with one sale, as the journal keeps it. The next act follows from these steps alone. */
export type SaleStep =
  | { readonly type: 'Seen'; readonly terms: SaleTerms }
  /** Written before the market is told of it. */
  | ({ readonly type: 'InvoiceMade' } & Invoice)
  | { readonly type: 'InvoiceGiven'; readonly paymentHash: string }
  /** Written before the node is asked. `pendingBefore`: what the node was opening to this peer already. */
  | { readonly type: 'OpeningBegun'; readonly pendingBefore: readonly string[] }
  | { readonly type: 'Prepared'; readonly outpoint: string; readonly handle: string; readonly feeRate: number }
  /**
   * `isWithheld`: `PublishBegun` comes before the publication. Older agents wrote nothing between this and that.
   * `publishUntil`: the last height of the permit, where the market told it.
   */
  | { readonly type: 'Named'; readonly isWithheld?: true; readonly publishUntil?: number }
  /** Written before the funding leaves the agent. From here on nobody can tell who has it: it is never given up. */
  | { readonly type: 'PublishBegun' }
  | { readonly type: 'Published'; readonly height: number }
  | { readonly type: 'FeeRaised'; readonly height: number; readonly feeRate: number }
  | { readonly type: 'InvoiceRefused'; readonly reason: string }
  /** Nothing is left of this opening. `isPeerAway`: the buyer's node could not be reached, or refused. */
  | { readonly type: 'SetBack'; readonly reason: string; readonly isPeerAway?: true }
  /** The market knows that the buyer's node cannot be reached. */
  | { readonly type: 'CancelAsked' }
  | { readonly type: 'Sold' }
  /** Nobody pays for this channel any more: it is to be closed, also after the sale has ended. */
  | { readonly type: 'CloseWanted'; readonly outpoint: string }
  /** Also of a sale that has ended; a second time where only then it is known by whom. `early`: before its lease ended. */
  | (ChannelEnd & { readonly type: 'Closed'; readonly outpoint: string })
  | { readonly type: 'Ended'; readonly how: string }

type ChannelEnd = Pick<ClosedChannel, 'how' | 'by' | 'closingTxid' | 'height'> & { readonly early: boolean }
type Invoice = { readonly paymentHash: string; readonly request: string }
type Funding = {
  readonly outpoint: string
  readonly handle: string
  readonly feeRate: number
  /** The last height of the permit to publish. */
  readonly publishUntil?: number
}
/** There is never more than one funding of a sale: the next opening needs 'none', which only `SetBack` brings back. */
type Opening =
  | { readonly state: 'none' }
  | { readonly state: 'begun'; readonly pendingBefore: readonly string[] }
  | ({ readonly state: 'prepared' | 'named' | 'publishing' } & Funding)
  | ({ readonly state: 'published'; readonly feeHeight: number } & Funding)

export type Sale = {
  readonly orderId: string
  readonly terms: SaleTerms
  /** Made, and not known to be given: it is given again before another one is made. */
  readonly made: Invoice | null
  /** When the market took one last; null: it has none. */
  readonly givenAt: number | null
  /** Payment hashes of those that the market took, newest last: it may pay any of them. */
  readonly given: readonly string[]
  readonly opening: Opening
  readonly setbacks: number
  readonly lastSetbackAt: number
  /** Openings that the buyer's node prevented, since the last one that it did not. */
  readonly unreached: number
  readonly cancelled: boolean
  readonly sold: boolean
  /** How its channel was closed; null: it was not, as far as the node told. */
  readonly closed: ChannelEnd | null
  readonly ended: boolean
}

/** The market takes no more for one order. */
const MOST_INVOICES = 50

/** @returns the sale after one step; the first is always Seen */
export function evolve(sale: Sale | undefined, orderId: string, at: number, step: SaleStep): Sale {
  if (step.type === 'Seen') return sale && !mayBegin(sale) ? sale : begun(sale, orderId, step.terms)
  if (!sale) throw new Error(`the journal of order ${orderId} begins with ${step.type}`)
  switch (step.type) {
    case 'InvoiceMade':
      return { ...sale, made: { paymentHash: step.paymentHash, request: step.request } }
    case 'InvoiceGiven': {
      const given = [...sale.given.filter((hash) => hash !== step.paymentHash), step.paymentHash]
      return { ...sale, made: null, givenAt: at, given: given.slice(-MOST_INVOICES) }
    }
    case 'OpeningBegun':
      return { ...sale, opening: { state: 'begun', pendingBefore: step.pendingBefore } }
    case 'Prepared':
      return {
        ...sale,
        unreached: 0,
        opening: { state: 'prepared', outpoint: step.outpoint, handle: step.handle, feeRate: step.feeRate },
      }
    case 'Named':
      return {
        ...sale,
        opening: {
          ...funding(sale),
          state: step.isWithheld ? 'named' : 'publishing',
          ...(step.publishUntil !== undefined && { publishUntil: step.publishUntil }),
        },
      }
    case 'PublishBegun':
      return { ...sale, opening: { ...funding(sale), state: 'publishing' } }
    case 'Published':
      return { ...sale, opening: { ...funding(sale), state: 'published', feeHeight: step.height } }
    case 'FeeRaised':
      return { ...sale, opening: { ...funding(sale), state: 'published', feeHeight: step.height, feeRate: step.feeRate } }
    case 'InvoiceRefused':
      return { ...sale, made: null, setbacks: sale.setbacks + 1, lastSetbackAt: at }
    case 'SetBack':
      return {
        ...sale,
        opening: { state: 'none' },
        setbacks: sale.setbacks + 1,
        lastSetbackAt: at,
        unreached: sale.unreached + (step.isPeerAway ? 1 : 0),
      }
    case 'CancelAsked':
      return { ...sale, cancelled: true }
    case 'Sold':
      return { ...sale, sold: true }
    case 'CloseWanted':
      return sale
    case 'Closed': {
      const { how, by, closingTxid, height, early } = step
      return { ...sale, closed: { how, by, closingTxid, height, early } }
    }
    case 'Ended':
      return { ...sale, ended: true }
  }
}

const begun = (before: Sale | undefined, orderId: string, terms: SaleTerms): Sale => ({
  orderId,
  terms,
  made: null,
  givenAt: null,
  // The attempt before may turn out to be the one that is paid for.
  given: before ? payableHashes(before) : [],
  opening: { state: 'none' },
  setbacks: 0,
  lastSetbackAt: 0,
  unreached: 0,
  cancelled: false,
  sold: false,
  closed: null,
  ended: false,
})

/** A sale that ended without a channel can come again, as another attempt at the same order. */
export const mayBegin = ({ ended, sold, opening }: Sale): boolean => ended && !sold && opening.state === 'none'

export function funding({ orderId, opening }: Sale): Funding {
  if (opening.state === 'none' || opening.state === 'begun') throw new Error(`order ${orderId} has no funding`)
  const { outpoint, handle, feeRate, publishUntil } = opening
  return { outpoint, handle, feeRate, ...(publishUntil !== undefined && { publishUntil }) }
}

/** What is done next. `watch`: ask the market how the order stands, and look after the funding and the payout. */
export type Act = 'reconcile' | 'name' | 'publish' | 'invoice' | 'open' | 'cancel' | 'watch'

// The market lists a sale for a moment longer than it needs the invoice that it has just been given.
const NEW_INVOICE_AFTER_MS = 30_000

/** @param status as listed among what waits for the seller; undefined: it is not listed */
export function nextAct(sale: Sale, status: string | undefined, now: number, limits: Pace): Act | undefined {
  if (sale.ended) return undefined
  switch (sale.opening.state) {
    case 'begun':
      return 'reconcile'
    case 'prepared':
      return 'name'
    case 'named':
    case 'publishing':
      return 'publish'
    case 'published':
      return status !== undefined && owesInvoice(sale, status, now) && now >= retryAt(sale, limits) ? 'invoice' : 'watch'
    case 'none':
      if (status === undefined || sale.cancelled) return 'watch'
      if (now < retryAt(sale, limits)) return undefined
      if (owesInvoice(sale, status, now)) return 'invoice'
      if (status !== 'WAITING_FOR_CHANNEL_OPEN') return 'watch'
      if (sale.unreached >= limits.maxUnreached) return 'cancel'
      return sale.setbacks < limits.maxOpenings ? 'open' : 'watch'
  }
}

/** While a channel is wanted one invoice is enough; a sale that is listed later wants another one. */
const owesInvoice = ({ givenAt }: Sale, status: string, now: number): boolean =>
  givenAt === null || (status !== 'WAITING_FOR_CHANNEL_OPEN' && now - givenAt > NEW_INVOICE_AFTER_MS)

/** Payment hashes of all invoices by which the sale may be paid, also of one whose giving was not answered. */
export const payableHashes = ({ given, made }: Sale): readonly string[] => (made ? [...given, made.paymentHash] : given)

const retryAt = ({ setbacks, lastSetbackAt }: Sale, { firstRetryMs, longestRetryMs }: Pace): number =>
  setbacks === 0 ? 0 : lastSetbackAt + backoff(setbacks - 1, firstRetryMs, longestRetryMs)

/** The market has seen its funding: publishing it once more changes nothing about when it came. */
export const isSeen = (status: string | undefined): boolean =>
  status === 'WAITING_FOR_ON_CHAIN_CONFIRMATION' || status === 'ON_CHAIN_CONFIRMATION' || status === 'SELLER_OPENED_CHANNEL'
export const isSold = (status: string | undefined): boolean => status !== undefined && isSale(status)
/** An order that the market does not know is no longer this seller's. */
export const isLost = (status: string | undefined): boolean => status === undefined || isFailure(status)
