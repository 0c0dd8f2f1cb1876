import { isFailure, isSale } from '@penstock/contracts/order/lifecycle.ts'
import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { computeBackoffMs, type RandomSource } from '@penstock/kernel/backoff.ts'
import type { ListedSale } from './market-client.ts'
import type { AgentTimings } from './terms.ts'

/** The terms of a sale, as the market listed it. */
type SaleTerms = Omit<ListedSale, 'orderId' | 'status'>

/** A step of one sale, as the journal stores it. The next action follows from these steps alone. */
export type SaleStep =
  | { readonly type: 'Seen'; readonly terms: SaleTerms }
  /** Recorded before the invoice is submitted to the market. */
  | ({ readonly type: 'InvoiceMade' } & Invoice)
  | { readonly type: 'InvoiceGiven'; readonly paymentHash: string }
  /** Recorded before the request to the node. `pendingBefore`: the pending channels to this peer at that time. */
  | { readonly type: 'OpeningBegun'; readonly pendingBefore: readonly string[] }
  /** `handle`: the signed funding transaction, which `publish` needs. */
  | { readonly type: 'Prepared'; readonly outpoint: string; readonly handle: string; readonly feeRate: number }
  /**
   * The market acknowledged the outpoint. `publishUntil`: the last height of this permit to publish, if the market sent it.
   * `isWithheld`: the funding is published only after `PublishBegun`. Older agents set neither of the two fields, and
   * did not record `PublishBegun`.
   */
  | { readonly type: 'Named'; readonly isWithheld?: true; readonly publishUntil?: number }
  /** Recorded before the funding is published. From then on other nodes may have the funding, so it is never abandoned. */
  | { readonly type: 'PublishBegun' }
  | { readonly type: 'Published'; readonly height: number }
  | { readonly type: 'FeeRaised'; readonly height: number; readonly feeRate: number }
  | { readonly type: 'InvoiceRefused'; readonly reason: string }
  /** The opening failed and left no funding. `isPeerAway`: the buyer's node could not be reached, or refused. */
  | { readonly type: 'SetBack'; readonly reason: string; readonly isPeerAway?: true }
  /** The market accepted the agent's request to cancel, because the buyer's node cannot be reached. */
  | { readonly type: 'CancelAsked' }
  | { readonly type: 'Sold' }
  /** The market will not pay for this channel any more, so the agent closes it, even after the end of the sale. */
  | { readonly type: 'CloseWanted'; readonly outpoint: string }
  /** Recorded for an ended sale too, and again once the closing party is known. `early`: before the lease ended. */
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
/** A sale never has two fundings, because an opening begins only in the state 'none', which only `SetBack` restores. */
type Opening =
  | { readonly state: 'none' }
  | { readonly state: 'begun'; readonly pendingBefore: readonly string[] }
  | ({ readonly state: 'prepared' | 'named' | 'publishing' } & Funding)
  /** `feeHeight`: the height of the publication, or of the last try to raise the fee. */
  | ({ readonly state: 'published'; readonly feeHeight: number } & Funding)

export type SaleState = {
  readonly orderId: string
  readonly terms: SaleTerms
  /** An invoice that the market has not answered yet. It is submitted again before another invoice is made. */
  readonly pendingInvoice: Invoice | null
  /** When the market last accepted an invoice; null: it has none. */
  readonly invoiceAcceptedAt: number | null
  /** Payment hashes of the invoices that the market accepted, newest last. The market may pay any of them. */
  readonly acceptedHashes: readonly string[]
  readonly opening: Opening
  readonly setbacks: number
  readonly lastSetbackAt: number
  /** Openings in a row that the buyer's node prevented. */
  readonly unreachableCount: number
  readonly isCancelled: boolean
  readonly isChannelSold: boolean
  /** How the channel was closed; null if the node has reported no close. */
  readonly channelEnd: ChannelEnd | null
  readonly hasEnded: boolean
}

/** The most invoices that the market accepts for one order. */
const MAX_INVOICES = 50

/** @returns the sale after one step; the first is always Seen */
export function evolve(sale: SaleState | undefined, orderId: string, at: number, step: SaleStep): SaleState {
  if (step.type === 'Seen') return sale && !mayBegin(sale) ? sale : beginSale(sale, orderId, step.terms)
  if (!sale) throw new Error(`the journal of order ${orderId} begins with ${step.type}`)
  switch (step.type) {
    case 'InvoiceMade':
      return { ...sale, pendingInvoice: { paymentHash: step.paymentHash, request: step.request } }
    case 'InvoiceGiven': {
      const acceptedHashes = [...sale.acceptedHashes.filter((hash) => hash !== step.paymentHash), step.paymentHash]
      return { ...sale, pendingInvoice: null, invoiceAcceptedAt: at, acceptedHashes: acceptedHashes.slice(-MAX_INVOICES) }
    }
    case 'OpeningBegun':
      return { ...sale, opening: { state: 'begun', pendingBefore: step.pendingBefore } }
    case 'Prepared':
      return {
        ...sale,
        unreachableCount: 0,
        opening: { state: 'prepared', outpoint: step.outpoint, handle: step.handle, feeRate: step.feeRate },
      }
    case 'Named':
      return {
        ...sale,
        opening: {
          ...fundingOf(sale),
          state: step.isWithheld ? 'named' : 'publishing',
          ...(step.publishUntil !== undefined && { publishUntil: step.publishUntil }),
        },
      }
    case 'PublishBegun':
      return { ...sale, opening: { ...fundingOf(sale), state: 'publishing' } }
    case 'Published':
      return { ...sale, opening: { ...fundingOf(sale), state: 'published', feeHeight: step.height } }
    case 'FeeRaised':
      return { ...sale, opening: { ...fundingOf(sale), state: 'published', feeHeight: step.height, feeRate: step.feeRate } }
    case 'InvoiceRefused':
      return { ...sale, pendingInvoice: null, setbacks: sale.setbacks + 1, lastSetbackAt: at }
    case 'SetBack':
      return {
        ...sale,
        opening: { state: 'none' },
        setbacks: sale.setbacks + 1,
        lastSetbackAt: at,
        unreachableCount: sale.unreachableCount + (step.isPeerAway ? 1 : 0),
      }
    case 'CancelAsked':
      return { ...sale, isCancelled: true }
    case 'Sold':
      return { ...sale, isChannelSold: true }
    case 'CloseWanted':
      return sale
    case 'Closed': {
      const { how, by, closingTxid, height, early } = step
      return { ...sale, channelEnd: { how, by, closingTxid, height, early } }
    }
    case 'Ended':
      return { ...sale, hasEnded: true }
  }
}

const beginSale = (before: SaleState | undefined, orderId: string, terms: SaleTerms): SaleState => ({
  orderId,
  terms,
  pendingInvoice: null,
  invoiceAcceptedAt: null,
  // The market may still pay for the earlier attempt.
  acceptedHashes: before ? payableHashesOf(before) : [],
  opening: { state: 'none' },
  setbacks: 0,
  lastSetbackAt: 0,
  unreachableCount: 0,
  isCancelled: false,
  isChannelSold: false,
  channelEnd: null,
  hasEnded: false,
})

/** A sale that ended without a channel can begin again, as another attempt at the same order. */
export const mayBegin = ({ hasEnded, isChannelSold, opening }: SaleState): boolean =>
  hasEnded && !isChannelSold && opening.state === 'none'

export function fundingOf({ orderId, opening }: SaleState): Funding {
  if (opening.state === 'none' || opening.state === 'begun') throw new Error(`order ${orderId} has no funding`)
  const { outpoint, handle, feeRate, publishUntil } = opening
  return { outpoint, handle, feeRate, ...(publishUntil !== undefined && { publishUntil }) }
}

/** The next action of a sale. `watch`: read the order, and check the funding and the payout. */
export type Action = 'reconcile' | 'name' | 'publish' | 'invoice' | 'open' | 'cancel' | 'watch'

// The market may still list a sale shortly after it has received the invoice that it needed.
const NEW_INVOICE_AFTER_MS = 30_000

/** @param status of the order in the market's list for this seller; undefined: it is not listed */
export function nextAction(sale: SaleState, status: string | undefined, now: number, timings: AgentTimings): Action | undefined {
  if (sale.hasEnded) return undefined
  switch (sale.opening.state) {
    case 'begun':
      return 'reconcile'
    case 'prepared':
      return 'name'
    case 'named':
    case 'publishing':
      return 'publish'
    case 'published':
      return status !== undefined && owesInvoice(sale, status, now) && now >= retryAt(sale, timings) ? 'invoice' : 'watch'
    case 'none':
      if (status === undefined || sale.isCancelled) return 'watch'
      if (now < retryAt(sale, timings)) return undefined
      if (owesInvoice(sale, status, now)) return 'invoice'
      if (status !== 'WAITING_FOR_CHANNEL_OPEN') return 'watch'
      if (sale.unreachableCount >= timings.maxUnreachable) return 'cancel'
      return sale.setbacks < timings.maxOpenings ? 'open' : 'watch'
  }
}

/** One invoice is enough while the order waits for its channel. If the market lists the sale after that, it needs another one. */
const owesInvoice = ({ invoiceAcceptedAt }: SaleState, status: string, now: number): boolean =>
  invoiceAcceptedAt === null || (status !== 'WAITING_FOR_CHANNEL_OPEN' && now - invoiceAcceptedAt > NEW_INVOICE_AFTER_MS)

/** Payment hashes of all invoices by which the sale may be paid, including an unanswered invoice. */
export const payableHashesOf = ({ acceptedHashes, pendingInvoice }: SaleState): readonly string[] =>
  pendingInvoice ? [...acceptedHashes, pendingInvoice.paymentHash] : acceptedHashes

const retryAt = ({ orderId, setbacks, lastSetbackAt }: SaleState, { firstRetryMs, longestRetryMs }: AgentTimings): number =>
  setbacks === 0 ? 0 : lastSetbackAt + computeBackoffMs(setbacks - 1, jitterSourceOf(orderId), firstRetryMs, longestRetryMs)

/** Every call for a sale has to compute the same time, so the jitter comes from the random end of the order's id. */
const jitterSourceOf = (orderId: string): RandomSource => ({ random: (bytes) => Buffer.from(orderId.slice(-2 * bytes), 'hex') })

/** Whether the market has seen the funding. The funding was then in time, even if the agent publishes it again later. */
export const isFundingSeenStatus = (status: string | undefined): boolean =>
  status === 'WAITING_FOR_ON_CHAIN_CONFIRMATION' || status === 'ON_CHAIN_CONFIRMATION' || status === 'SELLER_OPENED_CHANNEL'
export const isSoldStatus = (status: string | undefined): boolean => status !== undefined && isSale(status)
/** An order that the market does not return no longer belongs to this seller. */
export const isLostStatus = (status: string | undefined): boolean => status === undefined || isFailure(status)
