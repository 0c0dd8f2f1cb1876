import type { LedgerEntry, LossCause, PayoutDecision, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { getCreditorKey, noPayoutDue, type PayoutDue, evolvePayoutDue } from './payout-due.ts'

type ActiveWithholding = { readonly cause: WithholdingCause; readonly reason: string; readonly untilHeight: number }

export type PayoutState = 'OPEN' | 'WITHHELD' | 'REQUESTED' | 'SUCCEEDED' | 'FAILED'

/** The payment of an order, folded from the settlement stream. It may be ahead of the order's own view. */
export type HoldView = {
  readonly status: 'requested' | 'refused' | 'open' | 'held' | 'settling' | 'settled' | 'cancelling' | 'cancelled'
  readonly paymentHash: string | null
  readonly expiryHeight: number | null
  readonly settledAt: number | null
  readonly cancelledAt: number | null
  readonly reason: string | null
  readonly payout: {
    readonly state: PayoutState
    /** The status of the last attempt if it failed; clients rely on its values. */
    readonly failure: string | null
    readonly reason: string | null
    readonly attempts: number
    readonly payee: string | null
    readonly paymentHash: string | null
    readonly retryAt: number | null
    readonly feeMsat: string | null
    /** Active withholding causes, each with the height at which its own rule applies. */
    readonly withheld: readonly ActiveWithholding[]
    /** The decision of an operator, with its author and reason. */
    readonly decision: { readonly to: PayoutDecision; readonly by: string; readonly reason: string } | null
    /** The last refused invoice, with the reason. */
    readonly refusal: { readonly paymentHash: string; readonly reason: string } | null
  } | null
  readonly owed: PayoutDue
  /** The operator loss: requested, borne or refuted; null if none was requested. */
  readonly loss: { readonly status: 'ASKED' | 'BORNE' | 'REFUTED'; readonly cause: LossCause } | null
  readonly ledger: readonly { readonly posting: string; readonly at: number; readonly entries: readonly LedgerEntry[] }[]
  readonly incidents: readonly { readonly what: string; readonly height: number; readonly at: number }[]
}

const emptyHoldView: HoldView = {
  status: 'requested',
  paymentHash: null,
  expiryHeight: null,
  settledAt: null,
  cancelledAt: null,
  reason: null,
  payout: null,
  owed: noPayoutDue,
  loss: null,
  ledger: [],
  incidents: [],
}

const openPayout = {
  state: 'OPEN',
  failure: null,
  reason: null,
  attempts: 0,
  payee: null,
  paymentHash: null,
  retryAt: null,
  feeMsat: null,
  withheld: [],
  decision: null,
  refusal: null,
} as const

/** @returns the view after one fact of the order's settlement stream */
export function evolveHoldView(previous: HoldView = emptyHoldView, { fact, at }: Event<SettlementFact>): HoldView {
  // Rows of an earlier release may lack newer fields.
  const complete: HoldView = {
    ...previous,
    owed: { ...noPayoutDue, ...previous.owed },
    loss: previous.loss ?? null,
    payout: previous.payout && { ...openPayout, ...previous.payout },
  }
  const view = { ...complete, owed: evolvePayoutDue(complete.owed, fact) }
  switch (fact.type) {
    case 'HoldRequested':
      return { ...view, paymentHash: fact.data.paymentHash }
    case 'HoldRefused':
      return { ...view, status: 'refused', reason: fact.data.reason }
    case 'HoldIssued':
      return { ...view, status: keepCancelled(view, 'open') }
    case 'HoldHeld':
      return { ...view, status: keepCancelled(view, 'held'), expiryHeight: fact.data.expiryHeight }
    case 'SettlementStarted':
      return { ...view, status: 'settling' }
    case 'HoldSettled':
      return { ...view, status: 'settled', settledAt: fact.data.settledAt, payout: view.payout ?? openPayout }
    case 'CancelRequested':
      return { ...view, status: 'cancelling', reason: fact.data.sentence }
    case 'HoldCancelled':
      return { ...view, status: 'cancelled', cancelledAt: fact.data.at, reason: fact.data.sentence }
    case 'LossSearchStarted':
      return { ...view, loss: { status: 'ASKED', cause: fact.data.cause } }
    case 'LossBorne':
      return { ...view, loss: { status: 'BORNE', cause: fact.data.cause }, payout: view.payout ?? openPayout }
    case 'LossRefuted':
      return applyLossRefuted(view, fact.data.reason)
    case 'LedgerPosted':
      return { ...view, ledger: [...view.ledger, { posting: fact.data.posting, at, entries: fact.data.entries }] }
    case 'IncidentRecorded':
      return { ...view, incidents: [...view.incidents, { ...fact.data, at }] }
    default:
      return evolvePayoutView(view, fact, complete.owed)
  }
}

const applyLossRefuted = (view: HoldView, reason: string): HoldView => ({
  ...view,
  loss: view.loss && { ...view.loss, status: 'REFUTED' },
  payout: view.payout && { ...view.payout, state: 'OPEN', reason, withheld: [], retryAt: null },
})

/** An invoice that is issued or paid after the request to cancel does not change the status: it is cancelled too. */
const keepCancelled = ({ status }: HoldView, nextStatus: 'open' | 'held'): HoldView['status'] =>
  status === 'refused' || status === 'cancelling' || status === 'cancelled' ? status : nextStatus

function evolvePayoutView(view: HoldView, fact: SettlementFact, previous: PayoutDue): HoldView {
  const payout = view.payout ?? openPayout
  switch (fact.type) {
    case 'PayoutInvoiceAccepted': {
      // A new invoice of the creditor clears the failure of the last invoice. A repeated fact about the same invoice does not.
      const creditor = getCreditorKey(view.owed)
      const isNewInvoice = view.owed.usable[creditor] !== previous.usable[creditor]
      return view.payout && isNewInvoice ? { ...view, payout: clearFailure(view.payout) } : view
    }
    case 'PayoutWithheld': {
      const withheld = [...payout.withheld.filter(({ cause }) => cause !== fact.data.cause), fact.data]
      return { ...view, payout: { ...payout, state: 'WITHHELD', reason: fact.data.reason, withheld } }
    }
    case 'WithholdingLifted': {
      const withheld = payout.withheld.filter(({ cause }) => cause !== fact.data.cause)
      return { ...view, payout: { ...payout, withheld, reason: withheld.at(-1)?.reason ?? payout.reason } }
    }
    case 'PayoutDecided':
      return { ...view, payout: { ...payout, decision: fact.data } }
    case 'PayableClosed':
      return { ...view, payout: { ...payout, state: 'OPEN', reason: fact.data.reason, withheld: [], retryAt: null } }
    case 'PayoutInvoiceRefused':
      return view.payout ? { ...view, payout: { ...payout, refusal: fact.data } } : view
    case 'PayoutRetryRequested':
      return { ...view, payout: { ...payout, retryAt: null } }
    case 'PayoutReleased':
      return { ...view, payout: { ...payout, state: 'OPEN', reason: null, withheld: [] } }
    case 'PayoutRequested': {
      const { attempt, paymentHash } = fact.data
      return {
        ...view,
        payout: {
          ...clearFailure(payout),
          state: 'REQUESTED',
          attempts: attempt,
          paymentHash,
          payee: view.owed.invoices[paymentHash]?.payee ?? null,
        },
      }
    }
    case 'PayoutSucceeded': {
      // This is usually the requested payment, but an earlier payment may succeed late.
      const { paymentHash, feeMsat } = fact.data
      const payee = view.owed.invoices[paymentHash]?.payee ?? payout.payee
      const paid = { state: 'SUCCEEDED', paymentHash, payee, failure: null, reason: null, retryAt: null, feeMsat } as const
      return { ...view, payout: { ...payout, ...paid } }
    }
    case 'PayoutFailed': {
      const { status, reason, retryAt } = fact.data
      return { ...view, payout: { ...payout, state: 'FAILED', failure: status, reason, retryAt } }
    }
    default:
      return view
  }
}

/** Clears the failure, but not the reason of a withheld payout. */
const clearFailure = (payout: NonNullable<HoldView['payout']>): NonNullable<HoldView['payout']> => ({
  ...payout,
  ...(payout.state === 'FAILED' && { state: 'OPEN', reason: null }),
  failure: null,
  retryAt: null,
})
