import { type OrderStatus, isFailureFact, evolveOrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderFact, OrderTerms, ReleaseTo } from '@penstock/contracts/order.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { type PaymentStatus, evolvePaymentStatus } from './payment-status.ts'

export type AttemptView = {
  readonly attempt: number
  readonly candidate: Candidate
  readonly status: 'accepted' | 'opening' | 'named' | 'opened' | 'failed' | 'replaced'
  readonly startedAt: number
  /** Milliseconds since 1970; null until the order requests the channel. */
  readonly openBefore: number | null
  readonly outpoint: string | null
  /** Last block height of the window in which the seller may publish; absent before its first outpoint is accepted. */
  readonly publishUntil?: number
  readonly reason: string | null
}

type StartedAttempt = Extract<OrderFact, { readonly type: 'AttemptStarted' }>['data']

/** An outpoint or payout invoice that a seller submitted, with its verdict. */
export type SubmissionView = {
  readonly attempt: number
  readonly state: 'submitted' | 'accepted' | 'refused'
  readonly reason: string | null
}

/** An order, folded from its own facts. All values are JSON values, because the row stores the view as text. */
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
  /** The requested release of the payment; the status changes once the node has confirmed the cancellation. */
  readonly closing: { readonly to: ReleaseTo; readonly reason: string } | null
  /** The reason why the order ended. */
  readonly reason: string | null
  /** The record with the seller's text for its rejection. */
  readonly rejection: { readonly id: string; readonly hash: string } | null
  readonly attempts: readonly AttemptView[]
  readonly outpoint: string | null
  readonly outpoints: Readonly<Record<string, SubmissionView>>
  readonly payoutInvoices: Readonly<Record<string, SubmissionView>>
  readonly fundingSeenAt: number | null
  readonly fundingHeight: number | null
  readonly channelId: string | null
  readonly confirmations: number
  readonly settledAt: number | null
}

/** @returns the view after one fact of the order's stream; the first fact is always OrderPlaced */
export function evolveOrderView(view: OrderView | undefined, event: Event<OrderFact>): OrderView {
  const { fact, at } = event
  const before = view ?? createOrderView(event)
  const status = evolveOrderStatus(view?.status, fact.type)
  const after = evolveDetails(before, fact, at)
  const endReason = isFailureFact(fact.type) && 'reason' in fact.data ? fact.data.reason : null
  return {
    ...(endReason === null
      ? after
      : updateAttemptsWithStatus({ ...after, closing: null }, LIVE_STATUSES, { status: 'failed', reason: endReason })),
    status,
    statuses: before.statuses.at(-1)?.status === status ? before.statuses : [...before.statuses, { status, at }],
    paymentStatus: evolvePaymentStatus(before.paymentStatus, fact),
    reason: endReason ?? before.reason,
    updatedAt: at,
  }
}

function createOrderView({ aggregateId, at, fact }: Event<OrderFact>): OrderView {
  assert(fact.type === 'OrderPlaced', `the stream of order ${aggregateId} begins with ${fact.type}`)
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
    ...unseenFunding,
    settledAt: null,
  }
}

/** The channel's fields before its funding is seen. They are reset when another outpoint is accepted. */
const unseenFunding = { fundingSeenAt: null, fundingHeight: null, channelId: null, confirmations: 0 }

function evolveDetails(view: OrderView, fact: OrderFact, at: number): OrderView {
  switch (fact.type) {
    case 'SellerAccepted':
      return { ...view, accepted: true }
    case 'HoldIssuedRecorded':
      return {
        ...view,
        invoice: { request: fact.data.invoice, paymentHash: fact.data.paymentHash, expiresAt: fact.data.expiresAt },
      }
    case 'PaymentHeld': {
      const { expiryHeight, openBeforeHeight, receivedMsat } = fact.data
      return { ...view, held: { expiryHeight, openBeforeHeight, receivedMsat, at } }
    }
    // Once the settlement has started, no release takes effect.
    case 'SettlingStarted':
      return { ...view, closing: null }
    case 'ReleaseRequested':
      return { ...view, closing: { to: fact.data.to, reason: fact.data.reason } }
    case 'FundingSeenRecorded':
      return { ...view, fundingSeenAt: view.fundingSeenAt ?? at }
    case 'FundingConfirmedRecorded':
      return {
        ...view,
        channelId: fact.data.channelId,
        fundingHeight: fact.data.height,
        confirmations: Math.max(1, view.confirmations),
      }
    case 'FundingReorgedRecorded':
      return {
        ...updateAttemptsWithStatus(view, ['opened'], { status: 'named' }),
        channelId: null,
        fundingHeight: null,
        confirmations: 0,
      }
    case 'ChannelOpened':
      return { ...updateAttemptsWithStatus(view, ['named'], { status: 'opened' }), confirmations: fact.data.confirmations }
    case 'OrderValid':
      return { ...view, settledAt: fact.data.settledAt }
    case 'SellerRejected':
      return { ...view, rejection: fact.data.record }
    case 'PayoutInvoiceSubmittedRecorded':
      return setSubmission(view, 'payoutInvoices', fact.data.paymentHash, {
        attempt: fact.data.attempt,
        state: 'submitted',
        reason: null,
      })
    case 'PayoutInvoiceAcceptedRecorded':
      return updateInvoice(view, fact.data.paymentHash, { state: 'accepted', reason: null })
    case 'PayoutInvoiceRefusedRecorded':
      return updateInvoice(view, fact.data.paymentHash, { state: 'refused', reason: fact.data.reason })
    default:
      return evolveAttemptViews(view, fact, at)
  }
}

function evolveAttemptViews(view: OrderView, fact: OrderFact, at: number): OrderView {
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
      return { ...view, attempts: [...earlier, fresh], payoutInvoices: selectUsableInvoices(view, fact.data) }
    }
    case 'ChannelOpenRequested':
      return updateAttempt(view, fact.data.attempt, { status: 'opening', openBefore: fact.data.openBefore })
    case 'AttemptFailed':
      return updateAttempt(view, fact.data.attempt, { status: 'failed', reason: fact.data.reason })
    case 'OutpointSubmitted':
    case 'LateOutpointSubmitted':
      return setSubmission(view, 'outpoints', fact.data.outpoint, {
        attempt: fact.data.attempt,
        state: 'submitted',
        reason: null,
      })
    case 'OutpointRefused':
      return setSubmission(view, 'outpoints', fact.data.outpoint, {
        attempt: fact.data.attempt,
        state: 'refused',
        reason: fact.data.reason,
      })
    case 'OutpointAccepted': {
      const { attempt, outpoint, window } = fact.data
      const fresh = view.outpoint === outpoint ? view : { ...view, ...unseenFunding }
      // An outpoint may be accepted after its attempt has failed; the attempt then continues.
      const updated = updateAttempt(fresh, attempt, {
        status: 'named',
        outpoint,
        reason: null,
        ...(window && { publishUntil: window.publishUntil }),
      })
      return { ...setSubmission(updated, 'outpoints', outpoint, { attempt, state: 'accepted', reason: null }), outpoint }
    }
    default:
      return view
  }
}

/**
 * The invoice of the quoted seller is usable only if that seller sells at the quoted price. Otherwise the seller of this
 * attempt must submit an invoice of its own amount.
 */
function selectUsableInvoices(
  { terms, payoutInvoices }: OrderView,
  { attempt, candidate }: StartedAttempt,
): OrderView['payoutInvoices'] {
  const { sellerPubkey, sellerAmountMsat } = terms.candidate
  if (candidate.sellerPubkey === sellerPubkey && candidate.sellerAmountMsat === sellerAmountMsat) return payoutInvoices
  return Object.fromEntries(Object.entries(payoutInvoices).filter(([, invoice]) => invoice.attempt !== attempt))
}

/** Returns the current attempt: the attempt with the accepted outpoint, else the newest attempt. */
export function getCurrentAttempt(view: OrderView): number | undefined {
  const withOutpoint = view.outpoint === null ? undefined : view.attempts.find(({ outpoint }) => outpoint === view.outpoint)
  return (withOutpoint ?? view.attempts.at(-1))?.attempt
}

/** @returns the last block height at which the attempt's seller may publish: its `publishUntil`, at most `openBeforeHeight` */
export function computeBroadcastUntilHeight({ attempts, held }: OrderView, number: number): number | null {
  const publishUntil = attempts.find(({ attempt }) => attempt === number)?.publishUntil
  return publishUntil === undefined || !held ? null : Math.min(publishUntil, held.openBeforeHeight)
}

/** Whether the order's invoice awaits payment. A paid order without a seller has the same status. */
export const isAwaitingPayment = ({ status, closing, held }: OrderView): boolean =>
  status === 'WAITING_FOR_BUYER_PAYMENT' && closing === null && held === null

const updateAttempt = (view: OrderView, attempt: number | undefined, change: Partial<AttemptView>): OrderView => ({
  ...view,
  attempts: view.attempts.map((one) => (one.attempt === attempt ? { ...one, ...change } : one)),
})

/** Changes every attempt that has one of these statuses. */
const updateAttemptsWithStatus = (
  view: OrderView,
  from: readonly AttemptView['status'][],
  change: Partial<AttemptView>,
): OrderView => ({
  ...view,
  attempts: view.attempts.map((one) => (from.includes(one.status) ? { ...one, ...change } : one)),
})

const LIVE_STATUSES: readonly AttemptView['status'][] = ['accepted', 'opening', 'named', 'opened']

const setSubmission = (
  view: OrderView,
  collection: 'outpoints' | 'payoutInvoices',
  key: string,
  verdict: SubmissionView,
): OrderView => ({
  ...view,
  [collection]: { ...view[collection], [key]: verdict },
})

/** A verdict that arrives after the invoice was dropped changes nothing. */
function updateInvoice(view: OrderView, paymentHash: string, verdict: Pick<SubmissionView, 'state' | 'reason'>): OrderView {
  const before = view.payoutInvoices[paymentHash]
  return before ? setSubmission(view, 'payoutInvoices', paymentHash, { ...before, ...verdict }) : view
}
