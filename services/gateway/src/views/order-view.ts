import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import type { OrderFact, OrderTerms, ReleaseTo } from '@penstock/contracts/order.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { must } from '@penstock/kernel/result.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { isEnding, type PaymentStatus, paymentStatusAfter, statusAfter } from './order-status.ts'

export type AttemptView = {
  readonly attempt: number
  readonly candidate: Candidate
  readonly status: 'accepted' | 'opening' | 'named' | 'opened' | 'failed' | 'replaced'
  readonly startedAt: number
  /** Milliseconds since 1970; null until the seller was asked to open. */
  readonly openBefore: number | null
  readonly outpoint: string | null
  /** The last height at which a publication can be seen within the window of the attempt's first naming, once that is known. */
  readonly publishUntil?: number
  readonly reason: string | null
}

type Started = Extract<OrderFact, { readonly type: 'AttemptStarted' }>['data']

/** What somebody gave and is waiting to have judged: an outpoint or a payout invoice. */
export type Judged = { readonly attempt: number; readonly state: 'offered' | 'taken' | 'refused'; readonly reason: string | null }

/** An order as its own facts tell it. Everything is JSON, since the row keeps it as text. */
export type OrderView = {
  readonly id: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly terms: OrderTerms & { readonly approveBefore: number | null }
  readonly status: OrderStatus
  readonly paymentStatus: PaymentStatus | null
  readonly statuses: readonly { readonly status: OrderStatus; readonly at: number }[]
  readonly accepted: boolean
  readonly invoice: { readonly request: string; readonly paymentHash: string; readonly expiresAt: number } | null
  readonly held: {
    readonly expiryHeight: number
    readonly openBeforeHeight: number
    readonly receivedMsat: string
    readonly at: number
  } | null
  /** The payment is on its way back; the status follows when the node has confirmed it. */
  readonly closing: { readonly to: ReleaseTo; readonly reason: string } | null
  /** Why it ended as it did. */
  readonly reason: string | null
  /** Where the words stand that the seller rejected it with. */
  readonly rejection: { readonly id: string; readonly hash: string } | null
  readonly attempts: readonly AttemptView[]
  readonly outpoint: string | null
  readonly outpoints: Readonly<Record<string, Judged>>
  readonly payoutInvoices: Readonly<Record<string, Judged>>
  readonly fundingSeenAt: number | null
  readonly fundingHeight: number | null
  readonly channelId: string | null
  readonly confirmations: number
  readonly settledAt: number | null
}

/** @returns the view after one fact of the order's stream; the first fact is always OrderPlaced */
export function orderView(view: OrderView | undefined, event: Event<OrderFact>): OrderView {
  const { fact, at } = event
  const before = view ?? begun(event)
  const status = statusAfter(view?.status, fact.type)
  const after = detailsAfter(before, fact, at)
  const ending = isEnding(fact.type) && 'reason' in fact.data ? fact.data.reason : null
  return {
    ...(ending === null ? after : moved({ ...after, closing: null }, LIVE, { status: 'failed', reason: ending })),
    status,
    statuses: before.statuses.at(-1)?.status === status ? before.statuses : [...before.statuses, { status, at }],
    paymentStatus: paymentStatusAfter(before.paymentStatus, fact),
    reason: ending ?? before.reason,
    updatedAt: at,
  }
}

function begun({ aggregateId, at, fact }: Event<OrderFact>): OrderView {
  must(fact.type === 'OrderPlaced', `the stream of order ${aggregateId} begins with ${fact.type}`)
  return {
    id: aggregateId,
    createdAt: at,
    updatedAt: at,
    terms: fact.data,
    status: 'WAITING_FOR_SELLER_APPROVAL',
    paymentStatus: null,
    statuses: [],
    accepted: false,
    invoice: null,
    held: null,
    closing: null,
    reason: null,
    rejection: null,
    attempts: [],
    outpoint: null,
    outpoints: {},
    payoutInvoices: {},
    ...unseen,
    settledAt: null,
  }
}

/** What is known of a channel before its transaction was seen: also of one that was named in place of another. */
const unseen = { fundingSeenAt: null, fundingHeight: null, channelId: null, confirmations: 0 }

function detailsAfter(view: OrderView, fact: OrderFact, at: number): OrderView {
  switch (fact.type) {
    case 'SellerAccepted':
      return { ...view, accepted: true }
    case 'HoldIssued':
      return {
        ...view,
        invoice: { request: fact.data.invoice, paymentHash: fact.data.paymentHash, expiresAt: fact.data.expiresAt },
      }
    case 'PaymentHeld': {
      const { expiryHeight, openBeforeHeight, receivedMsat } = fact.data
      return { ...view, held: { expiryHeight, openBeforeHeight, receivedMsat, at } }
    }
    // A settlement that has begun outruns every release.
    case 'SettlingStarted':
      return { ...view, closing: null }
    case 'ReleaseRequested':
      return { ...view, closing: { to: fact.data.to, reason: fact.data.reason } }
    case 'FundingSeen':
      return { ...view, fundingSeenAt: view.fundingSeenAt ?? at }
    case 'FundingConfirmed':
      return {
        ...view,
        channelId: fact.data.channelId,
        fundingHeight: fact.data.height,
        confirmations: Math.max(1, view.confirmations),
      }
    case 'FundingReorged':
      return { ...moved(view, ['opened'], { status: 'named' }), channelId: null, fundingHeight: null, confirmations: 0 }
    case 'ChannelOpened':
      return { ...moved(view, ['named'], { status: 'opened' }), confirmations: fact.data.confirmations }
    case 'OrderValid':
      return { ...view, settledAt: fact.data.settledAt }
    case 'SellerRejected':
      return { ...view, rejection: fact.data.record }
    case 'PayoutInvoiceOffered':
      return judged(view, 'payoutInvoices', fact.data.paymentHash, { attempt: fact.data.attempt, state: 'offered', reason: null })
    case 'PayoutInvoiceTaken':
      return invoiceJudged(view, fact.data.paymentHash, { state: 'taken', reason: null })
    case 'PayoutInvoiceRefused':
      return invoiceJudged(view, fact.data.paymentHash, { state: 'refused', reason: fact.data.reason })
    default:
      return attemptAfter(view, fact, at)
  }
}

function attemptAfter(view: OrderView, fact: OrderFact, at: number): OrderView {
  switch (fact.type) {
    case 'AttemptStarted': {
      const earlier = view.attempts.map((one): AttemptView => (one.status === 'failed' ? { ...one, status: 'replaced' } : one))
      const fresh: AttemptView = {
        ...fact.data,
        status: 'accepted',
        startedAt: at,
        openBefore: null,
        outpoint: null,
        reason: null,
      }
      return { ...view, attempts: [...earlier, fresh], payoutInvoices: invoicesFor(view, fact.data) }
    }
    case 'OpeningAsked':
      return changed(view, fact.data.attempt, { status: 'opening', openBefore: fact.data.openBefore })
    case 'AttemptFailed':
      return changed(view, fact.data.attempt, { status: 'failed', reason: fact.data.reason })
    case 'OutpointOffered':
    case 'LateOutpointOffered':
      return judged(view, 'outpoints', fact.data.outpoint, { attempt: fact.data.attempt, state: 'offered', reason: null })
    case 'OutpointRefused':
      return judged(view, 'outpoints', fact.data.outpoint, {
        attempt: fact.data.attempt,
        state: 'refused',
        reason: fact.data.reason,
      })
    case 'OutpointNamed': {
      const { attempt, outpoint, window } = fact.data
      const fresh = view.outpoint === outpoint ? view : { ...view, ...unseen }
      // A late one wins, whatever it had failed at.
      const named = changed(fresh, attempt, {
        status: 'named',
        outpoint,
        reason: null,
        ...(window && { publishUntil: window.publishUntil }),
      })
      return { ...judged(named, 'outpoints', outpoint, { attempt, state: 'taken', reason: null }), outpoint }
    }
    default:
      return view
  }
}

/**
 * Where the seller that was shown had no capacity any more, or sells from another offer at another price, its invoice is
 * nobody's: the one that sells has to give its own, of the right amount.
 */
function invoicesFor({ terms, payoutInvoices }: OrderView, { attempt, candidate }: Started): OrderView['payoutInvoices'] {
  const { sellerPubkey, sellerAmountMsat } = terms.candidate
  if (candidate.sellerPubkey === sellerPubkey && candidate.sellerAmountMsat === sellerAmountMsat) return payoutInvoices
  return Object.fromEntries(Object.entries(payoutInvoices).filter(([, invoice]) => invoice.attempt !== attempt))
}

/** The attempt that counts: the one whose outpoint was named, else the newest. */
export function currentAttempt(view: OrderView): number | undefined {
  const named = view.outpoint === null ? undefined : view.attempts.find(({ outpoint }) => outpoint === view.outpoint)
  return (named ?? view.attempts.at(-1))?.attempt
}

/** @returns the last height at which this attempt's seller may publish: the lower one of its window's and the payment's */
export function broadcastUntilHeight({ attempts, held }: OrderView, number: number): number | null {
  const publishUntil = attempts.find(({ attempt }) => attempt === number)?.publishUntil
  return publishUntil === undefined || !held ? null : Math.min(publishUntil, held.openBeforeHeight)
}

/** Its invoice waits for the buyer. One that is paid may still wait for a seller. */
export const isToPay = ({ status, closing, held }: OrderView): boolean =>
  status === 'WAITING_FOR_BUYER_PAYMENT' && closing === null && held === null

const changed = (view: OrderView, attempt: number | undefined, change: Partial<AttemptView>): OrderView => ({
  ...view,
  attempts: view.attempts.map((one) => (one.attempt === attempt ? { ...one, ...change } : one)),
})

/** Every attempt that is in one of these statuses. */
const moved = (view: OrderView, from: readonly AttemptView['status'][], change: Partial<AttemptView>): OrderView => ({
  ...view,
  attempts: view.attempts.map((one) => (from.includes(one.status) ? { ...one, ...change } : one)),
})

const LIVE: readonly AttemptView['status'][] = ['accepted', 'opening', 'named', 'opened']

const judged = (view: OrderView, what: 'outpoints' | 'payoutInvoices', key: string, verdict: Judged): OrderView => ({
  ...view,
  [what]: { ...view[what], [key]: verdict },
})

/** A verdict may come when the invoice is nobody's any more. */
function invoiceJudged(view: OrderView, paymentHash: string, verdict: Pick<Judged, 'state' | 'reason'>): OrderView {
  const before = view.payoutInvoices[paymentHash]
  return before ? judged(view, 'payoutInvoices', paymentHash, { ...before, ...verdict }) : view
}
