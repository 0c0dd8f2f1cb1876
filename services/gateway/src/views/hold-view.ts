import type { LedgerEntry, LossCause, PayoutDecision, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { creditorKey, nothingOwed, type Owed, owedAfter } from './owed.ts'

type Withheld = { readonly cause: WithholdingCause; readonly reason: string; readonly untilHeight: number }

export type PayoutState = 'OPEN' | 'WITHHELD' | 'REQUESTED' | 'SUCCEEDED' | 'FAILED'

/** The money of an order, as settlement's own stream tells it. It never waits for the order's stream, nor that for it. */
export type HoldView = {
  readonly status: 'requested' | 'refused' | 'open' | 'held' | 'settling' | 'settled' | 'cancelling' | 'cancelled'
  readonly paymentHash: string | null
  readonly expiryHeight: number | null
  readonly settledAt: number | null
  readonly cancelledAt: number | null
  readonly reason: string | null
  readonly payout: {
    readonly state: PayoutState
    /** Why the last try failed, in the words that clients know. */
    readonly failure: string | null
    readonly reason: string | null
    readonly attempts: number
    readonly payee: string | null
    readonly paymentHash: string | null
    readonly retryAt: number | null
    readonly feeMsat: string | null
    /** What withholds it, each cause with the height at which its rule ends it. */
    readonly withheld: readonly Withheld[]
    /** Whom an operator decided for, and why. */
    readonly decision: { readonly to: PayoutDecision; readonly by: string; readonly reason: string } | null
    /** Why the last invoice that was refused was so. */
    readonly refusal: { readonly paymentHash: string; readonly reason: string } | null
  } | null
  readonly owed: Owed
  /** Whether the operator pays the seller of a payment that the market let go; null where that was never asked. */
  readonly loss: { readonly status: 'ASKED' | 'BORNE' | 'REFUTED'; readonly cause: LossCause } | null
  readonly ledger: readonly { readonly posting: string; readonly at: number; readonly entries: readonly LedgerEntry[] }[]
  readonly incidents: readonly { readonly what: string; readonly height: number; readonly at: number }[]
}

const nothing: HoldView = {
  status: 'requested',
  paymentHash: null,
  expiryHeight: null,
  settledAt: null,
  cancelledAt: null,
  reason: null,
  payout: null,
  owed: nothingOwed,
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
export function holdView(before: HoldView = nothing, { fact, at }: Event<SettlementFact>): HoldView {
  // Rows from before a release may lack what it added.
  const known: HoldView = {
    ...before,
    owed: { ...nothingOwed, ...before.owed },
    loss: before.loss ?? null,
    payout: before.payout && { ...openPayout, ...before.payout },
  }
  const view = { ...known, owed: owedAfter(known.owed, fact) }
  switch (fact.type) {
    case 'HoldRequested':
      return { ...view, paymentHash: fact.data.paymentHash }
    case 'HoldRefused':
      return { ...view, status: 'refused', reason: fact.data.reason }
    case 'HoldIssued':
      return { ...view, status: statusBut(view, 'open') }
    case 'HoldHeld':
      return { ...view, status: statusBut(view, 'held'), expiryHeight: fact.data.expiryHeight }
    case 'SettleRequested':
      return { ...view, status: 'settling' }
    case 'HoldSettled':
      return { ...view, status: 'settled', settledAt: fact.data.settledAt, payout: view.payout ?? openPayout }
    case 'CancelRequested':
      return { ...view, status: 'cancelling', reason: fact.data.sentence }
    case 'HoldCancelled':
      return { ...view, status: 'cancelled', cancelledAt: fact.data.at, reason: fact.data.sentence }
    case 'LossAsked':
      return { ...view, loss: { status: 'ASKED', cause: fact.data.cause } }
    case 'LossBorne':
      return { ...view, loss: { status: 'BORNE', cause: fact.data.cause }, payout: view.payout ?? openPayout }
    case 'LossRefuted':
      return lossRefuted(view, fact.data.reason)
    case 'LedgerPosted':
      return { ...view, ledger: [...view.ledger, { posting: fact.data.posting, at, entries: fact.data.entries }] }
    case 'IncidentNoted':
      return { ...view, incidents: [...view.incidents, { ...fact.data, at }] }
    default:
      return payoutAfter(view, fact, known.owed)
  }
}

const lossRefuted = (view: HoldView, reason: string): HoldView => ({
  ...view,
  loss: view.loss && { ...view.loss, status: 'REFUTED' },
  payout: view.payout && { ...view.payout, state: 'OPEN', reason, withheld: [], retryAt: null },
})

/** An invoice that was made, or paid, while it was being cancelled is noted, and cancelled too. */
const statusBut = ({ status }: HoldView, late: 'open' | 'held'): HoldView['status'] =>
  status === 'refused' || status === 'cancelling' || status === 'cancelled' ? status : late

function payoutAfter(view: HoldView, fact: SettlementFact, before: Owed): HoldView {
  const payout = view.payout ?? openPayout
  switch (fact.type) {
    case 'PayoutInvoiceTaken': {
      // What was wrong with the seller's invoice is mended by another one, and not by the same that is told once more.
      const creditor = creditorKey(view.owed)
      const isAnother = view.owed.usable[creditor] !== before.usable[creditor]
      return view.payout && isAnother ? { ...view, payout: mended(view.payout) } : view
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
          ...mended(payout),
          state: 'REQUESTED',
          attempts: attempt,
          paymentHash,
          payee: view.owed.invoices[paymentHash]?.payee ?? null,
        },
      }
    }
    case 'PayoutSucceeded': {
      // Mostly the one that was asked for, and sometimes one before it that arrived after all.
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

/** Nothing has failed any more. Why it is withheld stays to be read. */
const mended = (payout: NonNullable<HoldView['payout']>): NonNullable<HoldView['payout']> => ({
  ...payout,
  ...(payout.state === 'FAILED' && { state: 'OPEN', reason: null }),
  failure: null,
  retryAt: null,
})
